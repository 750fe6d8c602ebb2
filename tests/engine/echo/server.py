"""Keeps what it is told in its workspace, a line each, and says it back."""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TOKEN = Path("/run/agent/token").read_text()
SAID = Path("/workspace/echo/said.jsonl")
SAID.parent.mkdir(exist_ok=True)


def said():
    return [json.loads(line) for line in SAID.read_text().splitlines()] if SAID.exists() else []


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/health":
            return self.answer(200, {"status": "ok", "platform": "echo"})
        return self.answer(200, {"said": said()}) if self.let_in() else self.answer(401, {})

    def do_POST(self):
        if not self.let_in():
            return self.answer(401, {})
        text = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["text"]
        with SAID.open("a") as file:
            file.write(json.dumps(text) + "\n")
            file.flush()
            os.fsync(file.fileno())
        return self.answer(200, {"text": " / ".join(said())})

    def let_in(self):
        return self.headers["Authorization"] == f"Bearer {TOKEN}"

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


ThreadingHTTPServer(("", 9000), Handler).serve_forever()
