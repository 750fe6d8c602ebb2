"""Short signed tickets: what the web process hands a gateway so that it may serve one caller.

A ticket names the agent, the verbs and who asks; it lives a minute and is checked when a
request begins. Long streams ask `still_allowed` while they run.
"""

import secrets
from dataclasses import asdict, dataclass

from django.conf import settings
from django.core import signing

from controlplane.tenants.access import Access, right_stands

MAX_AGE = 60  # seconds
SALT = "roost.gateway"
NEEDS = {
    "chat": "agents:chat",
    "history": "agents:read",
    "logs": "agents:read",
    "checkpoints": "agents:read",
    "snapshots": "agents:read",
    "exports": "agents:write",  # everything an agent knows leaves the house
    "imports": "agents:write",  # such a ticket names an import in the place of an agent
    "web": "agents:chat",  # its own web UI; the gateway takes such a ticket once
}


class BadTicket(Exception):
    """Not signed by us, too old, or for something else."""


@dataclass(frozen=True)
class Ticket:
    agent: str
    verb: str  # a key of NEEDS
    organisation: str
    user: int
    token: str  # the API token's id, or ""
    serial: str = ""  # tells two apart that were made in the same second


def issue(access: Access, agent_id: str, verb: str) -> str:
    """Raises Forbidden where the caller may not do `verb`."""
    access.require(NEEDS[verb])
    token = access.actor.id if access.actor.kind == "token" else ""
    serial = secrets.token_hex(8)
    ticket = Ticket(agent_id, verb, access.organisation.pk, access.user.pk, token, serial)
    return signing.dumps(asdict(ticket), key=settings.GATEWAY_SECRET, salt=SALT)


def read(text: str, agent_id: str, verb: str) -> Ticket:
    """Raises BadTicket."""
    try:
        ticket = Ticket(
            **signing.loads(text, key=settings.GATEWAY_SECRET, salt=SALT, max_age=MAX_AGE)
        )
    except (signing.BadSignature, TypeError) as error:
        raise BadTicket from error
    if (ticket.agent, ticket.verb) != (agent_id, verb):
        raise BadTicket
    return ticket


def still_allowed(ticket: Ticket) -> bool:
    """Whether its holder may go on: role not lowered, token not revoked."""
    return right_stands(
        NEEDS[ticket.verb],
        organisation=ticket.organisation,
        user=ticket.user,
        token=ticket.token,
    )
