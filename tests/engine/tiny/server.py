"""Answers as Hermes does to whoever asks how it is. Starts in a tenth of its time.

What it does is written into its workspace: `boots` counts its starts, `deaf` makes it silent.
"""

import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

with open("/run/agent/token") as file:
    TOKEN = file.read()
WELL = {"status": "ok", "platform": "hermes-agent"}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if os.path.exists("/workspace/deaf"):
            return self.answer(503, {})
        if self.path == "/health":
            return self.answer(200, WELL)
        let_in = self.headers["Authorization"] == f"Bearer {TOKEN}"
        return self.answer(200 if let_in else 401, {"sessions": []})

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


def take_all_memory(*_):
    kept = []
    while True:
        kept.append(b"x" * 1048576)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
signal.signal(signal.SIGUSR1, take_all_memory)
with open("/workspace/boots", "a") as file:
    file.write("boot\n")
print("tiny: up", flush=True)
ThreadingHTTPServer(("", 8642), Handler).serve_forever()
