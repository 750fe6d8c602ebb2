"""The only network-facing process that speaks to agents and to the engine.

It serves nobody without a ticket of the web process (X-Roost-Ticket), and hands on nothing
of a caller's but what the agent needs: cookies and Authorization never reach an agent.
"""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from provisioner.gateway import chat, logs
from provisioner.gateway.door import GatewayProblem

AGENT = "/gateway/agents/{agent}"


def make_app() -> Starlette:
    return Starlette(
        routes=[
            Route("/gateway/health", health),
            Route(AGENT + "/messages", chat.history, methods=["GET"]),
            Route(AGENT + "/messages", chat.send, methods=["POST"]),
            Route(AGENT + "/conversations", chat.conversations),
            Route(AGENT + "/logs", logs.logs),
        ],
        exception_handlers={GatewayProblem: problem, Exception: unexpected},
    )


async def health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, GatewayProblem)  # noqa: S101  registered for nothing else
    return JSONResponse({"code": error.code, "message": str(error)}, error.status)


async def unexpected(request: Request, error: Exception) -> Response:
    """Starlette raises it on afterwards, and the server logs its traceback."""
    said = "The gateway met an error of its own. The agent most likely goes on; try again later."
    return await problem(request, GatewayProblem(502, "gateway_failed", said))
