// <time data-when datetime="…">: relative under an hour, then clock, then date, in the reader's own time zone.
// With data-when="clock" never relative, with data-when="second" to the second.
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const second = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const year = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "long" });

const ago = (at, now) => {
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 5) return "now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  return exactly(at, now);
};

const exactly = (at, now) => {
  if (at.toDateString() === now.toDateString()) return clock.format(at);
  if (at.getFullYear() === now.getFullYear()) return `${day.format(at)}, ${clock.format(at)}`;
  return year.format(at);
};

const toTheSecond = (at, now) => {
  if (at.toDateString() === now.toDateString()) return second.format(at);
  const date = at.getFullYear() === now.getFullYear() ? day : year;
  return `${date.format(at)}, ${second.format(at)}`;
};

const shown = { clock: exactly, second: toTheSecond };

const run = () => {
  const now = new Date();
  for (const time of document.querySelectorAll("time[data-when]")) {
    const at = new Date(time.dateTime);
    const words = (shown[time.dataset.when] ?? ago)(at, now);
    if (time.textContent !== words) time.textContent = words;
    time.title = full.format(at);
  }
};
setInterval(run, 5000);
document.addEventListener("htmx:load", run);
run();
