"""DNS answers made here: an authoritative no, and what an agent with a list is told. Pure."""

import random
from dataclasses import dataclass

from dnslib import CLASS, QTYPE, RCODE, RR, DNSRecord

from provisioner.guard_rules import is_public

LONGEST = 3600  # seconds an agent may keep an answer
MOST_ADDRESSES = 32  # of one answer
MOST_RECORDS = 64  # that are looked at


@dataclass(frozen=True)
class Told:
    """A reply, the addresses in it, and how long they may be kept."""

    reply: DNSRecord
    addresses: tuple[str, ...] = ()
    seconds: int = 0


def refusal(request: DNSRecord, code: int = RCODE.NXDOMAIN) -> DNSRecord:
    """Authoritative, or the engine's resolver in between would go on asking elsewhere."""
    reply = request.reply(aa=1)
    reply.header.rcode = code
    return reply


def failure(request: DNSRecord) -> DNSRecord:
    reply = request.reply()
    reply.header.rcode = RCODE.SERVFAIL
    return reply


def asks_for_address(request: DNSRecord) -> bool:
    return bool(request.q.qtype == QTYPE.A and request.q.qclass == CLASS.IN)


def plain_question(request: DNSRecord) -> DNSRecord:
    """The name alone: nothing else of what an agent sends goes any further."""
    question = DNSRecord.question(str(request.q.qname).lower(), "A")
    question.header.id = random.SystemRandom().randrange(65536)
    return question


def without_private(request: DNSRecord, answer: DNSRecord) -> Told:
    """The chain of names from the question to its public addresses; anything else is left out, and
    so is an address inside a network, to which a name may have been bound anew."""
    reply = request.reply()
    reply.header.rcode = answer.header.rcode
    known = {str(request.q.qname).lower()}
    records: list[RR] = []
    addresses: list[str] = []
    seconds = LONGEST
    for record in _in_order(answer, known):
        if record.rtype == QTYPE.A:
            address = str(record.rdata)
            if not is_public(address) or len(addresses) == MOST_ADDRESSES:
                continue
            addresses.append(address)
        record.ttl = min(record.ttl, LONGEST)
        seconds = min(seconds, record.ttl)
        records.append(record)
    for record in records if addresses else ():
        reply.add_answer(record)
    return Told(reply, tuple(addresses), seconds)


def _in_order(answer: DNSRecord, known: set[str]) -> list[RR]:
    """CNAME and A records that belong to the names in `known`, which grows along the chain."""
    chain: list[RR] = []
    left = [one for one in answer.rr[:MOST_RECORDS] if one.rtype in {QTYPE.CNAME, QTYPE.A}]
    while found := [record for record in left if str(record.rname).lower() in known]:
        left = [record for record in left if str(record.rname).lower() not in known]
        known |= {str(one.rdata.label).lower() for one in found if one.rtype == QTYPE.CNAME}
        chain += found
    return chain
