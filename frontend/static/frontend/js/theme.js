// <button data-theme-toggle>: system → light → dark. The cookie is read by the server, so pages never flash.
const root = document.documentElement;
const order = ["system", "light", "dark"];

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-theme-toggle]");
  if (!button) return;
  const next = order[(order.indexOf(root.dataset.theme ?? "system") + 1) % order.length];
  if (next === "system") delete root.dataset.theme;
  else root.dataset.theme = next;
  document.cookie = `theme=${next}; path=/; max-age=31536000; samesite=lax`;
  button.querySelector("small").textContent = next;
});
