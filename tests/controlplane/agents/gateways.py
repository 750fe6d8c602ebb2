"""A gateway that says what a test wants: lines, refusals, silence, a line cut in the middle."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DONE = [
    {"type": "delta", "text": "He"},
    {"type": "delta", "text": "llo"},
    {"type": "completed", "conversation": "main", "text": "Hello"},
]


@dataclass
class FakeGateway:
    status: int = 200
    says: list[Any] = field(default_factory=lambda: list(DONE))
    cut: bool = False  # break the line before the end
    heard: list[str] = field(default_factory=list)  # the messages said so far
    asked: list[str] = field(default_factory=list)  # the paths
    hold: threading.Event | None = None  # says nothing until it is set
    reached: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serving(fake: FakeGateway) -> Iterator[str]:
    """Its address, for the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            fake.asked.append(self.path)
            fake.heard.append(json.loads(body)["text"] if body else "")
            fake.reached.set()
            if fake.hold is not None:
                fake.hold.wait(20)
            self.send_response(fake.status)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for row in fake.says:
                self.say(json.dumps(row, ensure_ascii=False).encode() + b"\n")
            if fake.cut:
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")

        do_POST = do_GET  # noqa: N815  the name is http.server's

        def say(self, data: bytes) -> None:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
