"""Real listeners on the host and beyond it, so that "refused" means that somebody refused."""

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

from tests import sharing

ANYWHERE = "0.0.0.0"  # noqa: S104  as a careless service of the host does
BEYOND = "roost-tests"  # a network namespace: the world outside, one hop from the host
PUBLIC = "11.22.33.2"  # in it; from a block that is nobody's private one
PRIVATE = "192.168.77.2"


@contextlib.contextmanager
def listening(address: str, port: int = 0, family: int = socket.AF_INET) -> Iterator[int]:
    """Accepts and closes, in a thread; the port."""
    with socket.socket(family) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(socket.getaddrinfo(address, port, family, socket.SOCK_STREAM)[0][4])
        server.listen(64)
        server.settimeout(0.1)
        done = threading.Event()
        thread = threading.Thread(target=_accept, args=(server, done))
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            done.set()
            thread.join()


def _accept(server: socket.socket, done: threading.Event) -> None:
    while not done.is_set():
        try:
            server.accept()[0].close()
        except TimeoutError:
            continue


LISTEN = """
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
server = socket.socket(family)
server.bind(socket.getaddrinfo(sys.argv[1], 0, family, socket.SOCK_STREAM)[0][4])
server.listen(64)
print(server.getsockname()[1], flush=True)
while True:
    server.accept()[0].close()
"""


@contextlib.contextmanager
def listening_inside(pid: int, address: str) -> Iterator[int]:
    """In the network of a container, by its init's pid; the port."""
    argv = ["nsenter", "--target", str(pid), "--net", sys.executable, "-c", LISTEN, address]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            yield int(server.stdout.readline())
        finally:
            server.kill()


@contextlib.contextmanager
def beyond() -> Iterator[int]:
    """A host outside with a public and a private address; the port it listens on."""
    with sharing.held(BEYOND):
        yield from _beyond()


def _beyond() -> Iterator[int]:
    _remove()
    _ip("netns", "add", BEYOND)
    try:
        _ip("link", "add", "roost-out", "type", "veth", "peer", "name", "in", "netns", BEYOND)
        _ip("address", "add", "11.22.33.1/30", "dev", "roost-out")
        _ip("address", "add", "192.168.77.1/30", "dev", "roost-out")
        _ip("link", "set", "roost-out", "up")
        for words in (
            ("address", "add", f"{PUBLIC}/30", "dev", "in"),
            ("address", "add", f"{PRIVATE}/30", "dev", "in"),
            ("link", "set", "in", "up"),
            ("route", "add", "default", "via", "11.22.33.1"),
        ):
            _ip("-n", BEYOND, *words)
        argv = [sys.executable, "-m", "http.server", "8099", "--bind", ANYWHERE]
        server = subprocess.Popen(
            ["ip", "netns", "exec", BEYOND, *argv],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _until_open(PUBLIC, 8099)
            yield 8099
        finally:
            server.terminate()
            server.wait(10)
    finally:
        _remove()


def _until_open(address: str, port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection((address, port), timeout=0.5).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the listener outside did not come up")


def _remove() -> None:
    for words in (("link", "del", "roost-out"), ("netns", "del", BEYOND)):
        subprocess.run(["ip", *words], capture_output=True, check=False)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
