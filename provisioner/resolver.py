"""The node's DNS for agents: it answers at once, also where the answer is no.

With the engine's own resolver an agent that may not reach the internet waits 20 seconds for
its first turn; a prompt, authoritative "no such name" costs nothing. Agents that may reach
the internet are passed on to the host's resolvers.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection
from dnslib import RCODE, DNSError, DNSRecord
from dnslib.server import BaseResolver, DNSLogger, DNSServer

from provisioner.backend import Backend
from provisioner.reach import guard_policy

log = logging.getLogger(__name__)

TTL = 2.0  # seconds the list of open agents is kept
UPSTREAM_TIMEOUT = 3.0
MOST_UPSTREAM = 64  # questions at once; each has a thread that waits


class AgentResolver(BaseResolver):  # type: ignore[misc]
    def __init__(self, upstreams: list[str]) -> None:
        self.upstreams = upstreams
        self._open: set[str] = set()
        self._read_at = 0.0
        self._refreshing = threading.Lock()
        self._upstream = threading.BoundedSemaphore(MOST_UPSTREAM)

    def resolve(self, request: DNSRecord, handler: object) -> DNSRecord:
        asker = handler.client_address[0]  # type: ignore[attr-defined]
        if asker in self.open_addresses():
            return self._ask_upstream(request)
        reply = request.reply(aa=1)
        reply.header.rcode = RCODE.NXDOMAIN
        return reply

    def open_addresses(self) -> set[str]:
        """One asker reads the list anew; the others go by the old one and wait for nobody."""
        due = time.monotonic() - self._read_at > TTL
        if due and self._refreshing.acquire(blocking=False):
            try:
                self._refresh()
            finally:
                self._refreshing.release()
        return self._open

    def _refresh(self) -> None:
        try:
            self._open = {address for _, address in guard_policy().open}
        except DatabaseError:
            log.warning("database away: the list of open agents stays as it was")
        finally:
            connection.close()  # this thread lives for one question
        self._read_at = time.monotonic()

    def _ask_upstream(self, request: DNSRecord) -> DNSRecord:
        if self._upstream.acquire(blocking=False):
            try:
                for upstream in self.upstreams:
                    with contextlib.suppress(OSError, ValueError, DNSError):
                        return _answer_of(upstream, request)
            finally:
                self._upstream.release()
        reply = request.reply()
        reply.header.rcode = RCODE.SERVFAIL
        return reply


def _answer_of(upstream: str, request: DNSRecord) -> DNSRecord:
    answer = request.send(upstream, timeout=UPSTREAM_TIMEOUT, ipv6=":" in upstream)
    return DNSRecord.parse(answer)


def host_upstreams(path: Path = Path("/etc/resolv.conf")) -> list[str]:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return []
    words = [line.split() for line in lines]
    return [line[1] for line in words if line[:1] == ["nameserver"] and len(line) > 1]


@contextlib.contextmanager
def serving(backend: Backend) -> Iterator[None]:
    """Answers on the service address while the block runs; without a guard there is none."""
    if not backend.guarded:
        yield
        return
    server = DNSServer(
        AgentResolver(host_upstreams()),
        address=settings.ROOST_SERVICE_ADDRESS,
        port=53,
        logger=DNSLogger(log="-request,-reply,-truncated,-data"),
    )
    server.start_thread()
    try:
        yield
    finally:
        server.stop()
        server.server.server_close()
