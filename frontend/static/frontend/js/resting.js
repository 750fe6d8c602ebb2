// A browser opens six connections to a server at most, and every page here holds one for its events. A tab that
// nobody looks at gives its own back after a while; looked at again, it reconnects and shows what it missed.
const WHILE = 20000;
const open = new Set();
let timer;

document.addEventListener("htmx:sseOpen", (event) => open.add(event.detail.source));
document.addEventListener("htmx:sseClose", (event) => open.delete(event.detail.source));

const rest = () => { for (const source of open) source.close(); };

const wake = () => {
  for (const source of [...open]) {
    if (source.readyState !== EventSource.CLOSED) continue;
    open.delete(source);
    source.onerror(new Event("error")); // the extension reconnects a closed source, with all that listens to it
  }
};

document.addEventListener("visibilitychange", () => {
  clearTimeout(timer);
  if (document.hidden) timer = setTimeout(rest, WHILE);
  else wake();
});
