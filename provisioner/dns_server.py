"""The node's DNS over UDP and TCP: bounded for each agent, and never kept waiting by one."""

import contextlib
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

from dnslib import QTYPE, DNSError, DNSRecord
from dnslib.server import BaseResolver, DNSHandler, DNSLogger, DNSServer, TCPServer

PLAIN, MOST = 512, 1232  # bytes of a datagram, without and with EDNS (what never is fragmented)
PATIENCE = 5.0  # seconds for a question over TCP
MOST_CONNECTIONS = 8  # of one agent


class Handler(DNSHandler):  # type: ignore[misc]
    def handle(self) -> None:
        if self.server.socket_type == socket.SOCK_STREAM:
            self.request.settimeout(PATIENCE)
        with contextlib.suppress(OSError, struct.error):  # it went away, or dawdled
            super().handle()

    def get_reply(self, data: bytes) -> bytes:
        """What does not fit into a datagram is cut, which tells the asker to use TCP."""
        request = _parsed(data)
        if self.protocol == "udp":
            self.udplen = _room(request)
        return bytes(super().get_reply(data))


class BoundedTCPServer(TCPServer):  # type: ignore[misc]
    request_queue_size = 64

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._held: Counter[str] = Counter()
        self._lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Beyond its share an agent's connection is closed at once; each holds a thread."""
        with self._lock:
            free = self._held[client_address[0]] < MOST_CONNECTIONS
            self._held[client_address[0]] += free
        if free:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._held[client_address[0]] -= 1
                self._held = +self._held


def _both(
    resolver: BaseResolver, address: str, port: int, *, attempts: int
) -> tuple[DNSServer, DNSServer]:
    """Servers for UDP and TCP on one port: what is free for the one need not be for the other."""
    quiet = DNSLogger(log="-request,-reply,-truncated,-data,-error")
    words = {"address": address, "logger": quiet, "handler": Handler}
    udp = DNSServer(resolver, port=port, **words)
    try:
        found = int(udp.server.server_address[1])
        return udp, DNSServer(resolver, port=found, tcp=True, server=BoundedTCPServer, **words)
    except OSError:
        udp.server.server_close()
        if attempts == 1:
            raise
    return _both(resolver, address, port, attempts=attempts - 1)


@contextlib.contextmanager
def answering(
    resolver: BaseResolver, address: str, port: int = 53, *, poll: float = 0.5
) -> Iterator[int]:
    """Over UDP and TCP while the block runs; the port (a free one where it is 0). At its end it
    takes up to `poll` seconds to stop."""
    udp, tcp = _both(resolver, address, port, attempts=1 if port else 16)
    found = int(udp.server.server_address[1])
    for one in (udp, tcp):
        threading.Thread(target=one.server.serve_forever, args=(poll,), daemon=True).start()
    try:
        yield found
    finally:
        for one in (udp, tcp):
            one.stop()
            one.server.server_close()


def _parsed(data: bytes) -> DNSRecord:
    """Raises DNSError alone, whatever the bytes are."""
    try:
        return DNSRecord.parse(data)
    except DNSError:
        raise
    except Exception as error:
        raise DNSError(str(error)) from error


def _room(request: DNSRecord) -> int:
    sizes = [record.rclass for record in request.ar if record.rtype == QTYPE.OPT]
    return max(PLAIN, min([MOST, *sizes])) if sizes else PLAIN
