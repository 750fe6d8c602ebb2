"""Agents' own web UIs, each under a host name of its own; see docs/security.md.

A request passes, in this order: its origin, the session, the right as it is now, what the runtime
keeps closed. What is left goes to the agent, without the browser's cookies and with a sign-in that
no browser ever sees.
"""

import asyncio
import contextlib
import logging
import posixpath

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketState

from controlplane.agents.addresses import agent_of, is_agents_host, web_origin
from provisioner.gateway.door import GatewayProblem
from provisioner.gateway.turns import under_way
from provisioner.gateway.web import origins, refusals, sessions, sockets
from provisioner.gateway.web.crowd import Crowd
from provisioner.gateway.web.places import Place, SignIns, place_of
from provisioner.gateway.web.refusals import WebRefusal
from provisioner.gateway.web.requests import BrokenOff, BrowserLeft, Exchange
from provisioner.gateway.web.rights import LOOK, Rights
from provisioner.gateway.web.sessions import Entrance, Session
from provisioner.gateway.web.together import until

log = logging.getLogger(__name__)
OURS = "/.roost/"
NOT_ANY_MORE, TRY_LATER = 1008, 1013


class ByHost:
    """Agents' hosts reach agents and nothing of the gateway's own; every other host the reverse."""

    def __init__(self, gateway: ASGIApp, web: "WebUIs") -> None:
        self._gateway, self._web = gateway, web

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        of_agents = scope["type"] != "lifespan" and is_agents_host(_host(scope))
        await (self._web if of_agents else self._gateway)(scope, receive, send)


class WebUIs:
    def __init__(self) -> None:
        self._entrance, self._rights = Entrance(), Rights()
        self._sign_ins, self._crowd = SignIns(), Crowd()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._socket(WebSocket(scope, receive, send))
        else:
            await self._request(Request(scope, receive, send), receive, send)

    async def _request(self, request: Request, receive: Receive, send: Send) -> None:
        exchange: Exchange | None = None
        try:
            agent_id = _agent(request)
            if request.scope["path"].startswith(OURS):
                answer = await self._own(request, agent_id)
                await answer(request.scope, receive, send)
                return
            origins.check(request.method, request.headers, web_origin(agent_id))
            session, place = await self._let_in(request, agent_id, request.method)
            with self._crowd.place(agent_id):
                exchange = Exchange(request.scope, receive, send)
                work = exchange.run(place, self._sign_ins)
                await until(work, self._watch(session), exchange.body.gone())
        except (BrokenOff, BrowserLeft, ClientDisconnect):
            return
        except Exception as error:
            problem = _told(error)
            if exchange is None or not exchange.began:
                page = refusals.is_navigation(request.method, request.headers)
                await refusals.answer(problem, page=page)(request.scope, receive, send)

    async def _socket(self, socket: WebSocket) -> None:
        try:
            agent_id = _agent(socket)
            origins.check_socket(socket.headers, web_origin(agent_id))
            session, place = await self._let_in(socket, agent_id, "GET")
            with self._crowd.place(agent_id):
                async with under_way(agent_id, web=True):
                    await until(sockets.join(socket, place, self._sign_ins), self._watch(session))
        except Exception as error:
            problem = _told(error)
            if socket.application_state == WebSocketState.CONNECTING:
                await socket.send_denial_response(refusals.answer(problem, page=False))
            elif socket.application_state == WebSocketState.CONNECTED:
                await socket.close(NOT_ANY_MORE if problem.status < 500 else TRY_LATER)

    async def _own(self, request: Request, agent_id: str) -> Response:
        match request.scope["path"]:
            case sessions.PATH:
                return await self._entrance.enter(request, agent_id)
            case refusals.STYLE_PATH:
                return refusals.style()
        raise WebRefusal(404, "not_found", "Nothing is here", "This address leads nowhere.")

    async def _let_in(
        self, connection: HTTPConnection, agent_id: str, method: str
    ) -> tuple[Session, Place]:
        """Raises GatewayProblem 401, 403, 404, 409."""
        session = sessions.read(connection, agent_id)
        place = place_of(await self._rights.agent_of(session))
        if any(place.ui.refuses(method, path) for path in _spellings(connection.scope["path"])):
            raise WebRefusal(
                403,
                "closed",
                "This part is closed",
                f"Roost looks after this for {place.agent.name}. Keys, the model, start and stop "
                "are on its page in the dashboard.",
                agent=place.agent,
            )
        return session, place

    async def _watch(self, session: Session) -> None:
        """Raises GatewayProblem when the session is over. Keeps its agent's UI awake until then."""
        while True:
            await asyncio.sleep(LOOK)
            agent = await self._rights.agent_of(session)
            with contextlib.suppress(GatewayProblem):
                await self._sign_ins.headers(place_of(agent), patience=0)


def _agent(connection: HTTPConnection) -> str:
    """Raises GatewayProblem 404."""
    found = agent_of(_host(connection.scope))
    if found is None:
        raise WebRefusal(404, "not_found", "No agent lives here", "This address leads nowhere.")
    return found


def _spellings(path: str) -> set[str]:
    """All that a server may take this for: some fold slashes, dots and capitals."""
    folded = posixpath.normpath("/" + path.replace("\\", "/").lstrip("/"))
    return {path, folded, folded.lower()}


def _host(scope: Scope) -> str:
    return Headers(scope=scope).get("host", "")


def _told(error: Exception) -> GatewayProblem:
    if isinstance(error, GatewayProblem):
        return error
    log.error("a web UI's request ended in an error of ours", exc_info=error)
    said = "The gateway met an error of its own. The agent most likely goes on; try again later."
    return WebRefusal(502, "gateway_failed", "That is our fault", said)
