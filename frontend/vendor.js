// Copies the scripts and styles we borrow out of node_modules into static/vendor, which is never committed.
import { copyFileSync, mkdirSync } from "node:fs";

const files = {
  "htmx.min.js": "htmx.org/dist/htmx.min.js",
  "htmx-sse.min.js": "htmx-ext-sse/dist/sse.min.js",
  "uplot.min.js": "uplot/dist/uPlot.iife.min.js",
  "uplot.min.css": "uplot/dist/uPlot.min.css",
};

mkdirSync("static/vendor", { recursive: true });
for (const [name, source] of Object.entries(files)) {
  copyFileSync(`node_modules/${source}`, `static/vendor/${name}`);
}
console.log(`static/vendor: ${Object.keys(files).join(", ")}`);
