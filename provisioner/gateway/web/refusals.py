"""What people meet instead of an agent's web UI: a page for a browser's tab, JSON for a program."""

from pathlib import Path

from django.conf import settings
from django.template.loader import render_to_string
from django.urls import reverse
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response

from controlplane.agents.models import Agent
from provisioner.gateway.door import GatewayProblem

STYLE = (Path(__file__).parent / "page.css").read_bytes()
STYLE_PATH = "/.roost/page.css"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class WebRefusal(GatewayProblem):
    """`title` is what happened, the message why, and `link` (with `todo`) leads to what to do.

    A page with `again` asks by itself after so many seconds.
    """

    def __init__(
        self,
        status: int,
        code: str,
        title: str,
        message: str,
        *,
        agent: Agent | None = None,
        again: int = 0,
    ) -> None:
        super().__init__(status, code, message)
        self.title, self.again = title, again
        self.todo = f"Look at {agent.name}" if agent else "Go to the dashboard"
        self.link = page_of(agent) if agent else settings.ROOST_URL


def page_of(agent: Agent) -> str:
    """An agent's page in the dashboard."""
    path: str = reverse("frontend:agent", args=[agent.organisation.slug, agent.name])
    return f"{settings.ROOST_URL.rstrip('/')}{path}"


def is_navigation(method: str, headers: Headers) -> bool:
    """Whether a person sees the answer. Browsers that do not say so ask for HTML."""
    if method != "GET":
        return False
    if "sec-fetch-mode" in headers:
        return headers["sec-fetch-mode"] == "navigate"
    return "text/html" in headers.get("accept", "")


def answer(problem: GatewayProblem, *, page: bool) -> Response:
    if not page:
        body = {"code": problem.code, "message": str(problem)}
        return JSONResponse(body, problem.status, headers=HEADERS)
    if not isinstance(problem, WebRefusal):
        problem = WebRefusal(problem.status, problem.code, "That did not work", str(problem))
    text = render_to_string("provisioner/web.html", {"problem": problem, "style": STYLE_PATH})
    again = {"Refresh": str(problem.again)} if problem.again else {}
    return Response(text, problem.status, {**HEADERS, **again}, "text/html")


def style() -> Response:
    return Response(STYLE, headers=HEADERS, media_type="text/css")
