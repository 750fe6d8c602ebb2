"""Small DNS servers and askers on loopback, for tests of the node's resolver."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from dnslib import CNAME, QTYPE, RCODE, RR, TXT, A, DNSRecord
from dnslib.server import BaseResolver

from provisioner import dns_server

UPSTREAM = "127.0.0.53"
NOBODY = "127.0.0.54"  # an upstream that does not answer
PUBLIC = "11.22.33.2"


class Zone(BaseResolver):
    """Answers from a table of (name, type): records; counts what it was asked."""

    def __init__(self, records: dict[tuple[str, str], list[RR]] | None = None) -> None:
        self.records = records
        self.asked: list[str] = []

    def resolve(self, request: DNSRecord, handler: object) -> DNSRecord:
        name, kind = str(request.q.qname), QTYPE[request.q.qtype]
        self.asked.append(f"{name} {kind} {handler.protocol}")
        reply = request.reply(aa=0)
        found = [a(name, PUBLIC)] if self.records is None else self.records.get((name, kind))
        if found is None:
            reply.header.rcode = RCODE.NXDOMAIN
        for record in found or []:
            reply.add_answer(record)
        return reply


def a(name: str, address: str, ttl: int = 60) -> RR:
    return RR(name, QTYPE.A, rdata=A(address), ttl=ttl)


def cname(name: str, other: str, ttl: int = 60) -> RR:
    return RR(name, QTYPE.CNAME, rdata=CNAME(other), ttl=ttl)


def txt(name: str, text: str) -> RR:
    return RR(name, QTYPE.TXT, rdata=TXT(text), ttl=60)


@contextmanager
def upstream(zone: Zone) -> Iterator[Zone]:
    with dns_server.answering(zone, UPSTREAM, 53, poll=0.01):
        yield zone


@contextmanager
def silent() -> Iterator[socket.socket]:
    """Bound, and never answering."""
    with socket.socket(type=socket.SOCK_DGRAM) as one:
        one.bind((NOBODY, 53))
        one.settimeout(5)
        yield one


def ask(
    port: int, *, asker: str, name: str = "example.com", kind: str = "A", tcp: bool = False
) -> DNSRecord:
    data = DNSRecord.question(name, kind).pack()
    with socket.socket(type=socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM) as one:
        one.bind((asker, 0))
        one.settimeout(5)
        one.connect(("127.0.0.1", port))
        one.sendall(struct.pack("!H", len(data)) + data if tcp else data)
        if not tcp:
            return DNSRecord.parse(one.recv(4096))
        stream = one.makefile("rb")
        (length,) = struct.unpack("!H", stream.read(2))
        return DNSRecord.parse(stream.read(length))


def addresses(answer: DNSRecord) -> list[str]:
    return [str(record.rdata) for record in answer.rr if record.rtype == QTYPE.A]
