"""An agent that answers without end, or with a packed bomb, costs us nothing."""

import asyncio
import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from runtimes.capped import capped_client


class Hostile(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        if self.path == "/packed":
            self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            self.wfile.write(gzip.compress(b"0" * 1_000_000))
            return
        self.end_headers()
        chunks = 1 if self.path == "/short" else 10_000
        try:
            for _ in range(chunks):
                self.wfile.write(b"x" * 1000)
        except OSError:
            return

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


async def get(url: str) -> bytes:
    async with capped_client(50_000) as client:
        return (await client.get(url)).content


def test_an_honest_answer_comes_whole(url):
    assert asyncio.run(get(f"{url}/short")) == b"x" * 1000


@pytest.mark.parametrize("path", ["/endless", "/packed"])
def test_a_hostile_answer_is_cut_off(url, path):
    with pytest.raises(httpx.ReadError):
        asyncio.run(get(url + path))
