// The button that was pressed is busy until its answer is here; a second press does nothing.
const set = (button, busy) => {
  if (busy) button?.setAttribute("aria-busy", "true");
  else button?.removeAttribute("aria-busy");
};
const pressed = (event) => event.detail.requestConfig?.triggeringEvent?.submitter;

document.addEventListener("htmx:beforeRequest", (event) => set(pressed(event), true));
document.addEventListener("htmx:afterRequest", (event) => set(pressed(event), false));

document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (event.defaultPrevented || !button || event.target.matches("[hx-post], [hx-get], [data-composer], [target=_blank]")) return;
  if (button.getAttribute("aria-busy") === "true") event.preventDefault();
  else set(button, true);
});

// Coming back to this page through the browser's history: nothing is under way any more.
addEventListener("pageshow", (event) => {
  if (event.persisted) document.querySelectorAll("[aria-busy=true]").forEach((button) => set(button, false));
});
