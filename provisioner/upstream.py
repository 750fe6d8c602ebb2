"""Asking the host's own resolvers, a bounded number of questions at once."""

import contextlib
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from dnslib import DNSError, DNSRecord

TIMEOUT = 3.0
MOST = 64  # questions at once; each has a thread that waits
MOST_EACH = 16  # of these, one agent's
PORT = 53


class Upstreams:
    def __init__(self, servers: list[str]) -> None:
        self.servers = servers
        self._held: Counter[str] = Counter()
        self._lock = threading.Lock()

    def ask(self, asker: str, question: DNSRecord, *, tcp: bool = False) -> DNSRecord | None:
        """The first answer; None when no server gave one, or all places are taken."""
        with self._place(asker) as free:
            for server in self.servers if free else ():
                with contextlib.suppress(OSError, ValueError, DNSError, struct.error):
                    return exchange(server, question, tcp=tcp)
        return None

    @contextlib.contextmanager
    def _place(self, asker: str) -> Iterator[bool]:
        with self._lock:
            free = self._held.total() < MOST and self._held[asker] < MOST_EACH
            self._held[asker] += free
        try:
            yield free
        finally:
            with self._lock:
                self._held[asker] -= free
                self._held = +self._held


def exchange(server: str, question: DNSRecord, *, tcp: bool) -> DNSRecord:
    """One question to one server. Raises OSError, DNSError, ValueError."""
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    kind = socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM
    with socket.socket(family, kind) as one:
        end = time.monotonic() + TIMEOUT
        one.settimeout(TIMEOUT)
        one.connect((server, PORT))  # so that the kernel drops what others send
        data = question.pack()
        one.sendall(struct.pack("!H", len(data)) + data if tcp else data)
        while True:
            answer = DNSRecord.parse(_whole(one, end) if tcp else one.recv(65535))
            if _belongs(answer, question):
                return answer
            if tcp or time.monotonic() > end:
                raise ValueError("an answer to something else")
            one.settimeout(max(0.01, end - time.monotonic()))


def _whole(one: socket.socket, end: float) -> bytes:
    data = b""
    wanted = 2
    while len(data) < wanted:
        one.settimeout(max(0.01, end - time.monotonic()))
        more = one.recv(wanted - len(data))
        if not more:
            raise ValueError("the answer ended early")
        data += more
        if len(data) == 2 and wanted == 2:
            wanted += struct.unpack("!H", data)[0]
    return data[2:]


def _belongs(answer: DNSRecord, question: DNSRecord) -> bool:
    """Whoever guesses the port must guess the id as well."""
    same = answer.header.id == question.header.id and answer.header.qr == 1
    return bool(same and (not answer.questions or answer.q.qname == question.q.qname))


def host_upstreams(path: Path = Path("/etc/resolv.conf")) -> list[str]:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return []
    words = [line.split() for line in lines]
    return [line[1] for line in words if line[:1] == ["nameserver"] and len(line) > 1]
