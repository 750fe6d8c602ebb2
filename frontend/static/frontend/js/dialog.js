// A <dialog> that htmx swapped in opens itself; [data-close], Esc and a click on the backdrop close it.
document.addEventListener("htmx:load", (event) => {
  const dialog = event.target.matches("dialog") ? event.target : event.target.querySelector("dialog");
  if (dialog && !dialog.open) dialog.showModal();
});

document.addEventListener("click", (event) => {
  const dialog = event.target.closest("dialog[open]");
  if (!dialog) return;
  const closer = event.target.closest("[data-close]");
  if (!closer && event.target !== dialog) return;
  event.preventDefault();
  dialog.close();
});

// What somebody typed into a closed dialog, a key above all, does not linger in the page.
document.addEventListener("close", (event) => {
  if (!event.target.matches("dialog")) return;
  // What was made in it is not on the page below yet.
  if (event.target.querySelector("[data-fresh]")) location.reload();
  event.target.remove();
}, true);
