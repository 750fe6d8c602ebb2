"""Who is signed in at an agent's host: a ticket once, then a signed cookie of that host alone."""

import time
from dataclasses import asdict, dataclass
from urllib.parse import parse_qs, urlsplit

from django.conf import settings
from django.core import signing
from django.http.request import validate_host
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response

from controlplane.agents import tickets
from controlplane.agents.addresses import is_agents_host
from controlplane.agents.tickets import BadTicket, Ticket
from provisioner.gateway.door import GatewayProblem
from provisioner.gateway.web.origins import foreign
from provisioner.gateway.web.refusals import WebRefusal

PATH = "/.roost/enter"
SALT = "roost.gateway.web"
MAX_AGE = 12 * 3600  # seconds
MOST_BODY = 8 * 1024  # bytes


@dataclass(frozen=True)
class Session:
    ticket: Ticket
    ends: float  # as time.time()


class Entrance:
    """Remembers the tickets that were used, for as long as they would be good."""

    def __init__(self) -> None:
        self._used: dict[str, float] = {}

    async def enter(self, request: Request, agent_id: str) -> Response:
        """A ticket, posted by the dashboard's page, becomes a session. Raises GatewayProblem."""
        if request.method != "POST":
            return RedirectResponse("/", 303)
        if not _from_dashboard(request.headers):
            raise foreign()
        ticket = self._take(await _posted(request), agent_id)
        response = RedirectResponse("/", 303, {"Cache-Control": "no-store"})
        response.set_cookie(
            cookie_name(),
            signing.dumps(asdict(ticket), key=settings.GATEWAY_SECRET, salt=SALT),
            max_age=MAX_AGE,
            path="/",
            secure=_secure(),
            httponly=True,
            samesite="lax",
        )
        return response

    def _take(self, text: str, agent_id: str) -> Ticket:
        moment = time.monotonic()
        self._used = {one: until for one, until in self._used.items() if until > moment}
        try:
            ticket = tickets.read(text, agent_id, "web")
        except BadTicket as error:
            raise _old_ticket() from error
        if ticket.serial in self._used:
            raise _old_ticket()
        self._used[ticket.serial] = moment + tickets.MAX_AGE + 1
        return ticket


def read(connection: HTTPConnection, agent_id: str) -> Session:
    """Raises GatewayProblem 401."""
    text = connection.cookies.get(cookie_name(), "")
    try:
        said = signing.loads(text, key=settings.GATEWAY_SECRET, salt=SALT, max_age=MAX_AGE)
        ticket, since = Ticket(**said), signing.b62_decode(text.rsplit(":", 2)[1])
    except (signing.BadSignature, TypeError) as error:
        raise _nobody() from error
    if (ticket.agent, ticket.verb) != (agent_id, "web"):
        raise _nobody()
    return Session(ticket, since + MAX_AGE)


def cookie_name() -> str:
    """With the prefix a browser lets no other host set it; it wants TLS for that."""
    return "__Host-roost_agent" if _secure() else "roost_agent"


def _secure() -> bool:
    return bool(settings.ROOST_AGENTS_SCHEME == "https")


def _from_dashboard(headers: Headers) -> bool:
    """Else another site could sign people in at an agent of its choice."""
    origins = headers.getlist("origin")
    try:
        found = urlsplit(origins[0])
        host = found.hostname or ""
    except (IndexError, ValueError):
        return False
    scheme = urlsplit(settings.ROOST_URL).scheme
    if len(origins) != 1 or found.scheme != scheme or is_agents_host(host):
        return False  # the dashboard's hosts may be a wildcard that holds the agents' too
    return validate_host(host, settings.ALLOWED_HOSTS)


async def _posted(request: Request) -> str:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BODY:
            raise _old_ticket()
    return parse_qs(body.decode("ascii", "replace")).get("ticket", [""])[0]


def _old_ticket() -> GatewayProblem:
    return WebRefusal(
        403,
        "bad_ticket",
        "This way in is used up",
        "Each is good for one visit that begins within a minute. Open the agent's web UI from the "
        "dashboard again.",
    )


def _nobody() -> GatewayProblem:
    return WebRefusal(
        401,
        "not_signed_in",
        "You are not signed in here",
        "This is an agent's own web UI. It lets in who opens it from the dashboard, and asks for "
        "that again after twelve hours. Sign in to Roost, go to the agent and choose "
        "“Open web UI”.",
    )
