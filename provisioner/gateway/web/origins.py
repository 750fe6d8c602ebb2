"""Who may ask an agent's host: its own pages, and a person who goes there. Nobody else's page.

Agents' hosts are neighbours below one domain, so to a browser they may be the same site: only the
same origin counts.
"""

from starlette.datastructures import Headers

from provisioner.gateway.door import GatewayProblem
from provisioner.gateway.web.refusals import WebRefusal

SAFE = {"GET", "HEAD", "OPTIONS"}


def check(method: str, headers: Headers, origin: str) -> None:
    """Of an HTTP request. Raises GatewayProblem 403."""
    came_from, site = headers.get("origin"), headers.get("sec-fetch-site", "")
    if came_from not in {None, origin} or (came_from is None and method not in SAFE):
        raise foreign()
    if site in {"", "none", "same-origin"}:
        return
    going_there = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    if method != "GET" or going_there != ("navigate", "document"):
        raise foreign()


def check_socket(headers: Headers, origin: str) -> None:
    """Of a socket's handshake, which browsers send across origins without asking first."""
    if headers.getlist("origin") != [origin]:
        raise foreign()


def foreign() -> GatewayProblem:
    return WebRefusal(
        403,
        "foreign_origin",
        "This came from another site",
        "Only this agent's own pages may do that, so that no other site can act in your name. "
        "Open the agent's web UI from the dashboard.",
    )
