// "/" goes to the page's search; [data-key="n"] links open with that key. Never inside a field.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable], dialog")) return;
  const wanted = event.key === "/" ? "[data-search]" : `[data-key="${CSS.escape(event.key)}"]`;
  const target = document.querySelector(wanted);
  if (!target) return;
  event.preventDefault();
  if (target.matches("input")) target.focus();
  else target.click();
});
