"""The only network-facing process that speaks to agents and to the engine.

It serves nobody without a ticket of the web process (X-Roost-Ticket), and hands on nothing
of a caller's but what the agent needs: cookies and Authorization never reach an agent.
Agents' own web UIs are under hosts of their own: see provisioner.gateway.web.app.
"""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from provisioner.gateway import archives, chat, checkpoints, investigations, logs, snapshots
from provisioner.gateway.door import GatewayProblem
from provisioner.gateway.web.app import ByHost, WebUIs

AGENT = "/gateway/agents/{agent}"
SNAPSHOT = AGENT + "/snapshots/{snapshot}"


def make_app() -> ASGIApp:
    own = Starlette(
        routes=[
            Route("/gateway/health", health),
            Route(AGENT + "/messages", chat.history, methods=["GET"]),
            Route(AGENT + "/messages", chat.send, methods=["POST"]),
            Route(AGENT + "/conversations", chat.conversations),
            Route(AGENT + "/investigations", investigations.investigations, methods=["GET"]),
            Route(AGENT + "/investigations", investigations.investigate, methods=["POST"]),
            Route(AGENT + "/investigations/{investigation}", investigations.investigation),
            Route(AGENT + "/logs", logs.logs),
            Route(AGENT + "/checkpoints", checkpoints.checkpoints),
            Route(SNAPSHOT + "/diff", snapshots.diff),
            Route(SNAPSHOT + "/diff/text", snapshots.text),
            Route(SNAPSHOT + "/files", snapshots.files),
            Route(AGENT + "/exports/{export}/link", archives.export_link),
            Route("/gateway/imports/{import}/upload", archives.import_upload),
        ],
        exception_handlers={GatewayProblem: problem, Exception: unexpected},
    )
    return ByHost(own, WebUIs())


async def health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, GatewayProblem)  # noqa: S101  registered for nothing else
    return JSONResponse({"code": error.code, "message": str(error)}, error.status)


async def unexpected(request: Request, error: Exception) -> Response:
    """Starlette raises it on afterwards, and the server logs its traceback."""
    said = "The gateway met an error of its own. The agent most likely goes on; try again later."
    return await problem(request, GatewayProblem(502, "gateway_failed", said))
