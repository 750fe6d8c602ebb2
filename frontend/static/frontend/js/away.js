// #away is shown while the dashboard itself does not answer; what is on the page stays usable.
// A 503 with our request id was answered by the dashboard about one of its parts: that is a toast.
const PATIENCE = 4000; // a stream that ends on purpose is back before that
const banner = document.getElementById("away");
let late = null;

const show = (away) => {
  clearTimeout(late);
  late = null;
  if (banner) banner.hidden = !away;
};

document.addEventListener("htmx:sendError", () => show(true));
document.addEventListener("htmx:responseError", (event) => {
  const { status } = event.detail.xhr;
  const ours = event.detail.xhr.getResponseHeader("X-Request-Id");
  if (status >= 500 && !(status === 503 && ours)) show(true);
});
document.addEventListener("htmx:sseError", () => {
  late ??= setTimeout(() => show(true), PATIENCE); // the browser tries every second
});
document.addEventListener("htmx:sseOpen", () => show(false));
document.addEventListener("htmx:afterOnLoad", (event) => { if (event.detail.xhr.status < 500) show(false); });
