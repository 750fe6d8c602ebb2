// Loaded into OpenClaw's own process before it: whoever does not come from inside this container
// must bring the agent's token, as a bearer, on every request and every socket's handshake.
//
// OpenClaw's own check by token knows nobody's browser: each would have to be paired by hand. So it
// runs in the mode for a trusted proxy, whose check is the sender's address alone, and this file is
// that proxy: it looks at the token, takes it off, and says who asks.
import { createHash, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";

const FREE = new Set(["/healthz"]);
const INSIDE = new Set(["127.0.0.1", "::1", "::ffff:127.0.0.1"]);
const ASKS = new Set(["request", "checkContinue", "checkExpectation", "upgrade", "connect"]);
// What nobody outside may say of himself.
const CLAIMS = /^(authorization|forwarded|x-(real-ip|roost-.*|forwarded-.*)|tailscale-.*)$/;
// From the block for documentation: OpenClaw wants a caller's address that is nobody's own.
const CALLER = "192.0.2.1";
const PERSON = "owner";

const digest = (text) => createHash("sha256").update(text).digest();
let expected;

function allowed(given) {
  if (!expected) {
    const keys = path.join(path.dirname(process.env.OPENCLAW_CONFIG_PATH), "keys.json");
    expected = digest(`Bearer ${JSON.parse(readFileSync(keys, "utf8")).gateway}`);
  }
  return timingSafeEqual(digest(given ?? ""), expected);
}

function introduce(headers, known) {
  for (const name of Object.keys(headers)) {
    if (CLAIMS.test(name)) delete headers[name];
  }
  headers["x-forwarded-for"] = CALLER;
  if (known) headers["x-roost-person"] = PERSON;
}

function refuse(answer) {
  const body = JSON.stringify({ error: { type: "unauthorized", message: "The token is wrong." } });
  if (answer instanceof http.ServerResponse) {
    answer.writeHead(401, { "content-type": "application/json", connection: "close" }).end(body);
  } else {
    answer.on("error", () => {});
    answer.end("HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  }
}

const emit = http.Server.prototype.emit;
http.Server.prototype.emit = function (event, request, answer, ...rest) {
  if (ASKS.has(event) && !INSIDE.has(request.socket.remoteAddress)) {
    const known = allowed(request.headers.authorization);
    if (!known && !FREE.has(request.url)) {
      refuse(answer);
      return true;
    }
    introduce(request.headers, known);
  }
  return emit.call(this, event, request, answer, ...rest);
};
