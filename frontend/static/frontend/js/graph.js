// <div data-graph="seconds,used,total;…" data-step="seconds">: a line of what was used and one of the limit, in GiB.
// uPlot draws; the pointer or the arrow keys tell the values in the figure's <output>. The table beside it needs no script.
const GIB = 1024 ** 3;
const HEIGHT = 160;
const GAP = 3; // steps without a sample: the line breaks instead of claiming a value
const DAY = 86_400;
const drawn = new Map();

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const date = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const said = (format, seconds) => format.format(new Date(seconds * 1000));

const colour = (element, name) => {
  element.style.color = `var(${name})`;
  const found = getComputedStyle(element).color;
  element.style.color = "";
  return found;
};

const columns = (element) => {
  const step = Number(element.dataset.step);
  const [times, used, limits] = [[], [], []];
  const add = (time, ...values) => {
    times.push(time);
    [used, limits].forEach((list, index) => list.push(values[index] ?? null));
  };
  for (const point of element.dataset.graph.split(";")) {
    const [time, bytes, total] = point.split(",").map(Number);
    if (time - times.at(-1) > GAP * step) add(times.at(-1) + step);
    add(time, bytes / GIB, total / GIB);
  }
  return [times, used, limits];
};

const tell = (plot, element) => {
  const at = plot.cursor.idx;
  const [times, used, limits] = plot.data;
  const shown = at != null && used[at] != null;
  element.closest("figure").querySelector("output").textContent = shown
    ? `${said(date, times[at])}, ${said(clock, times[at])}: ${used[at].toFixed(2)} of ${limits[at].toFixed(1)} GiB, ${Math.ceil((used[at] / limits[at]) * 100)} %`
    : "";
};

const options = (element) => {
  const axis = { stroke: colour(element, "--ink-3"), font: "11px sans-serif", grid: { stroke: colour(element, "--grid"), width: 1 }, ticks: { show: false } };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (plot, low, high) => [0, high * 1.08 || 1] } },
    axes: [
      { ...axis, space: 56, size: 24, values: (plot, times, index, space, step) => times.map((time) => said(step < DAY ? clock : date, time)) },
      { ...axis, size: 36 },
    ],
    series: [
      {},
      { stroke: colour(element, "--accent"), fill: colour(element, "--accent-soft"), width: 1.5, points: { show: false } },
      { stroke: colour(element, "--danger"), dash: [4, 4], width: 1, points: { show: false } },
    ],
    hooks: { setCursor: [(plot) => tell(plot, element)] },
  };
};

const draw = (element) => {
  drawn.get(element)?.destroy();
  drawn.set(element, new uPlot(options(element), columns(element), element));
};

const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    drawn.get(target)?.setSize({ width: target.clientWidth, height: HEIGHT });
  }
});

const begin = () => {
  for (const element of drawn.keys()) if (!element.isConnected) drawn.delete(element);
  for (const element of document.querySelectorAll("[data-graph]")) {
    if (drawn.has(element)) continue;
    draw(element);
    resized.observe(element);
  }
};

document.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const plot = step && drawn.get(event.target);
  if (!plot) return;
  event.preventDefault();
  const times = plot.data[0];
  const at = Math.min(Math.max((plot.cursor.idx ?? times.length) + step, 0), times.length - 1);
  plot.setCursor({ left: plot.valToPos(times[at], "x"), top: 0 });
});

// Another theme is other colours.
const redraw = () => drawn.forEach((plot, element) => draw(element));
new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
document.addEventListener("htmx:afterSettle", begin);
begin();
