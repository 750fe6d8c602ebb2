// .toast in .toasts goes by itself after a while, but never while somebody points at it or is inside it.
const SECONDS = 8;

const start = (toast) => {
  if (toast.dataset.left) return;
  toast.dataset.left = SECONDS;
  const clock = setInterval(() => {
    if (toast.matches(":hover, :focus-within")) return;
    toast.dataset.left -= 1;
    if (toast.dataset.left > 0 && toast.isConnected) return;
    clearInterval(clock);
    toast.remove();
  }, 1000);
};

const all = () => document.querySelectorAll(".toasts .toast").forEach(start);
document.addEventListener("htmx:oobAfterSwap", all);
document.addEventListener("htmx:load", all);
all();

document.addEventListener("click", (event) => event.target.closest("[data-dismiss]")?.closest(".toast").remove());
