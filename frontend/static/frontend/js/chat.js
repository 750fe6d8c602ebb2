// [data-composer]: sends a message and shows the answer while it is written. The server sends finished, clean
// HTML; this file only puts it in place. Without a script the form is a plain POST that waits for the answer.
// Enter sends, Shift+Enter makes a line.
const thread = document.querySelector("[data-thread]");
const form = document.querySelector("[data-composer]");
const area = form?.querySelector("textarea");

const atEnd = () => thread.scrollHeight - thread.scrollTop - thread.clientHeight < 80;
const toEnd = () => { thread.scrollTop = thread.scrollHeight; };

const stamp = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);

// One event of a text/event-stream: {name, data}.
const parse = (block) => {
  const event = { name: "message", data: [] };
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) event.name = line.slice(7);
    if (line.startsWith("data: ")) event.data.push(line.slice(6));
  }
  return { name: event.name, data: event.data.join("\n") };
};

const events = async function* (response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) yield parse(block);
  }
};

const keepConversation = (id) => {
  if (!id || form.elements.conversation.value === id) return;
  form.elements.conversation.value = id;
  const address = new URL(location.href);
  address.search = new URLSearchParams({ c: id });
  history.replaceState(null, "", address);
};

const put = (answer, text, { name, data }) => {
  const follow = atEnd();
  if (name === "tools") answer.querySelector("[data-tools]").innerHTML = data;
  if (name === "text") answer.querySelector("[data-answer]").innerHTML = data;
  if (name === "conversation") keepConversation(data);
  if (name === "done" || name === "failed") {
    const box = document.createElement("template");
    box.innerHTML = data;
    const finished = box.content.firstElementChild;
    answer.replaceWith(finished);
    const again = finished.querySelector("[data-again]");
    if (again) again.dataset.again = text;
    // A screen reader hears the answer once, complete.
    document.getElementById("announce").textContent = finished.querySelector(".prose, .banner")?.textContent ?? "";
  }
  if (follow) toEnd();
  return name === "done" || name === "failed";
};

const busy = (on) => {
  form.querySelector("[type=submit]").disabled = on;
  form.querySelector("[type=submit]").setAttribute("aria-busy", on);
};

const lost = (answer, text) => {
  const banner = stamp("line-lost");
  answer.replaceWith(banner);
  banner.querySelector("[data-again]").dataset.again = text;
  toEnd();
};

const listen = async (answer, text, body) => {
  const headers = { Accept: "text/event-stream" };
  const response = await fetch(form.action, { method: "POST", body, headers, redirect: "error" });
  if (!response.ok || !response.headers.get("Content-Type")?.startsWith("text/event-stream")) return lost(answer, text);
  let ended = false;
  for await (const event of events(response)) ended = put(answer, text, event) || ended;
  if (!ended) lost(answer, text);
};

const send = async () => {
  const text = area.value.trim();
  if (!text || form.querySelector("[type=submit]").disabled) return;
  const body = new FormData(form);
  document.querySelector("[data-empty]")?.remove();
  const question = stamp("question");
  question.querySelector("p").textContent = text;
  const answer = stamp("answer");
  thread.append(question, answer);
  area.value = "";
  busy(true);
  toEnd();
  await listen(answer, text, body).catch(() => lost(answer, text));
  busy(false);
};

if (form) {
  toEnd();
  addEventListener("load", toEnd);
  form.addEventListener("submit", (event) => { event.preventDefault(); send(); });
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
}

// Suggestions of an empty thread, and "Send again" below a message that got no answer.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-say-it], [data-again]");
  if (!button || !form) return;
  area.value = button.dataset.again ?? button.dataset.sayIt;
  button.closest("[data-lost]")?.remove();
  form.requestSubmit();
});
