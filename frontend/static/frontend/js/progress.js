// <progress data-since="ISO time" data-usual="seconds">: goes on between two messages of the server.
// It never claims to be done: past the usual time it stands at 95 % and the server says what it waits for.
const tick = () => {
  for (const bar of document.querySelectorAll("progress[data-since]")) {
    const usual = Number(bar.dataset.usual);
    const seconds = Math.max(0, (Date.now() - Date.parse(bar.dataset.since)) / 1000);
    bar.value = Math.min(seconds, usual * 0.95);
    const spot = bar.closest("section")?.querySelector("[data-seconds]");
    if (spot) spot.textContent = `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  }
};
setInterval(tick, 250);
tick();
