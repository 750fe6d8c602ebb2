// [data-log]: lines come as clean HTML over an event stream and are appended; follow, search and levels are here.
// A line lost with the connection is not lost: the browser says which one it had last, the server goes on from there.
const MOST = 5000;
const view = document.querySelector("[data-log]");
const form = document.querySelector("[data-log-tools]");
const jump = document.querySelector("[data-log-jump]");
const state = document.querySelector("[data-log-state]");

const nearEnd = () => view.scrollHeight - view.scrollTop - view.clientHeight < 24;
const toEnd = () => { view.scrollTop = view.scrollHeight; };

const mark = (span, query) => {
  const text = span.textContent;
  const at = query ? text.toLowerCase().indexOf(query) : -1;
  if (at < 0) return span.replaceChildren(text);
  const hit = document.createElement("mark");
  hit.textContent = text.slice(at, at + query.length);
  return span.replaceChildren(text.slice(0, at), hit, text.slice(at + query.length));
};

const wish = () => ({
  query: form.elements.q.value.trim().toLowerCase(),
  levels: [...form.querySelectorAll("[name=level]:checked")].map((box) => box.value),
});

const sift = (line, { query, levels }) => {
  line.hidden = !(levels.includes(line.dataset.level) && line.textContent.toLowerCase().includes(query));
  if (query || line.querySelector("mark")) mark(line.querySelector("span"), query);
  return !line.hidden;
};

const siftAll = () => {
  const wanted = wish();
  const hits = [...view.querySelectorAll(".log-line")].filter((line) => sift(line, wanted)).length;
  form.querySelector("output").textContent = wanted.query ? `${hits} ${hits === 1 ? "line matches" : "lines match"}` : "";
  if (form.elements.follow.checked) toEnd();
};

let unseen = 0;
const add = (html) => {
  document.querySelector("[data-log-empty]")?.remove();
  const box = document.createElement("template");
  box.innerHTML = html;
  const wanted = wish();
  const lines = [...box.content.querySelectorAll(".log-line")];
  for (const line of lines) sift(line, wanted);
  view.append(box.content);
  while (view.childElementCount > MOST) view.firstElementChild.remove();
  if (form.elements.follow.checked) return toEnd();
  unseen += lines.length;
  jump.textContent = `${unseen} new ${unseen === 1 ? "line" : "lines"}, go to the end`;
  jump.hidden = false;
};

const say = (name) => {
  for (const part of state.querySelectorAll("[data-is]")) part.hidden = part.dataset.is !== name;
};

const follow = (on) => {
  form.elements.follow.checked = on;
  jump.hidden = on;
  if (!on) return;
  unseen = 0;
  toEnd();
};

let last = view?.dataset.since ?? "";
let source;

const connect = () => {
  source = new EventSource(`${view.dataset.log}?${new URLSearchParams({ since: last })}`);
  source.addEventListener("open", () => say("live"));
  source.addEventListener("error", () => say("lost"));
  source.addEventListener("lines", (event) => {
    last = event.lastEventId || last;
    add(event.data);
  });
  source.addEventListener("away", () => say("away"));
};

if (view) {
  form.addEventListener("input", siftAll);
  form.addEventListener("submit", (event) => event.preventDefault());
  // Scrolling up is how people say "stop following".
  view.addEventListener("scroll", () => { if (nearEnd() !== form.elements.follow.checked) follow(nearEnd()); });
  jump.addEventListener("click", () => follow(true));
  siftAll();
  connect();

  // A tab nobody looks at gives its connection back; see resting.js.
  let timer;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => source.close(), 20000);
    else if (source.readyState === EventSource.CLOSED) connect();
  });
}
