"""Servers on loopback that behave as a test wants, and names that lead to them."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from tests.controlplane.outbound.answers import ANSWERS

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
Serve = Callable[..., "Server"]


@pytest.fixture(autouse=True)
def names(settings) -> Iterator[dict[str, list[list[str]]]]:
    settings.ROOST_RESOLVER = "tests.controlplane.outbound.answers.answer"
    settings.ROOST_OUTBOUND_ALLOW = []
    ANSWERS.clear()
    yield ANSWERS
    ANSWERS.clear()


class Server:
    """Sends the same to everybody, a piece at a time, and keeps what it heard first."""

    def __init__(self, pieces: list[bytes], pause: float) -> None:
        self.heard: list[bytes] = []
        self._pieces, self._pause = pieces, pause
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            with client, suppress(OSError):
                client.settimeout(5)
                self.heard.append(client.recv(65536))
                for piece in self._pieces:
                    client.sendall(piece)
                    time.sleep(self._pause)

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)


@pytest.fixture
def serve(settings) -> Iterator[Serve]:
    """`serve(pieces, pause)`: a server that may be reached at 127.0.0.1."""
    made: list[Server] = []

    def start(pieces: list[bytes] | None = None, pause: float = 0.0) -> Server:
        server = Server(pieces or [OK], pause)
        made.append(server)
        settings.ROOST_OUTBOUND_ALLOW = [f"127.0.0.1:{one.port}" for one in made]
        return server

    yield start
    for server in made:
        server.close()
