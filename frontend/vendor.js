// Copies the scripts we borrow out of node_modules into static/vendor, which is never committed.
import { copyFileSync, mkdirSync } from "node:fs";

const scripts = {
  "htmx.min.js": "htmx.org/dist/htmx.min.js",
  "htmx-sse.min.js": "htmx-ext-sse/dist/sse.min.js",
};

mkdirSync("static/vendor", { recursive: true });
for (const [name, source] of Object.entries(scripts)) {
  copyFileSync(`node_modules/${source}`, `static/vendor/${name}`);
}
console.log(`static/vendor: ${Object.keys(scripts).join(", ")}`);
