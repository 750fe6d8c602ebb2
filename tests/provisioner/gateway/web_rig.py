"""An agent's web UI, the gateway before it and a browser before that: all real servers on loopback.

async with rig.open() as web:           # both servers run for the block
    await web.enter()                   # as the dashboard's page does
    answer = await web.get("/hello")
    async with web.socket("/echo") as socket: ...
"""

import asyncio
import contextlib
import socket as sockets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.asyncio.client import ClientConnection, connect

from controlplane.agents import tickets
from controlplane.agents.addresses import web_host, web_origin
from controlplane.agents.models import Agent
from controlplane.tenants.access import Access
from provisioner.gateway.app import make_app
from runtimes.adapter import Endpoint
from runtimes.catalog import CATALOG
from tests.provisioner.gateway.agents import ADDRESS

PORT = CATALOG["hermes"].web.port
DASHBOARD = "http://127.0.0.1:8700"
SIGN_IN = {"Cookie": "agents-own=1", "X-Agents-Own": "1"}


class FakeUI:
    """The agent's web UI, and how the platform speaks of it (`WebUI`)."""

    def __init__(self) -> None:
        self.seen: list[Request | WebSocket] = []
        self.bodies: list[bytes] = []
        self.signed_in = 0
        self.good_from = 1  # the sign-in from which on it is content
        self.left = asyncio.Event()
        self.app = Starlette(
            routes=[
                Route("/stream", self._stream),
                Route("/away", self._away),
                Route("/{path:path}", self._page, methods=["GET", "POST", "PUT", "DELETE"]),
                WebSocketRoute("/echo", self._echo),
                WebSocketRoute("/bye", self._bye),
                WebSocketRoute("/no", self._no),
                WebSocketRoute("/elsewhere", self._elsewhere),
            ]
        )

    async def sign_in(
        self, client: httpx.AsyncClient, endpoint: Endpoint, base_url: str, origin: str
    ) -> Mapping[str, str]:
        self.signed_in += 1
        return dict(SIGN_IN)

    def expired(self, status: int, path: str) -> bool:
        return status == 401

    def refuses(self, method: str, path: str) -> bool:
        return path.startswith("/keys")

    async def _page(self, request: Request) -> Response:
        self.seen.append(request)
        self.bodies.append(await request.body())
        if self.signed_in < self.good_from:
            return PlainTextResponse("who?", 401)
        return PlainTextResponse("hello", headers={"Set-Cookie": "agents-own=2", "X-Kept": "yes"})

    async def _away(self, request: Request) -> Response:
        return RedirectResponse(f"http://{request.headers['host']}/there")

    async def _stream(self, request: Request) -> Response:
        async def words() -> AsyncIterator[str]:
            try:
                yield "data: first\n\n"
                await asyncio.sleep(60)
            finally:
                self.left.set()

        return StreamingResponse(words(), media_type="text/event-stream")

    async def _echo(self, socket: WebSocket) -> None:
        self.seen.append(socket)
        await socket.accept("two" if "two" in socket.scope["subprotocols"] else None)
        with contextlib.suppress(WebSocketDisconnect):
            while True:
                message = await socket.receive()
                if message["type"] == "websocket.disconnect":
                    self.bodies.append(str(message["code"]).encode())
                    break
                await socket.send({**message, "type": "websocket.send"})
        self.left.set()

    async def _bye(self, socket: WebSocket) -> None:
        await socket.accept()
        await socket.close(4321, "enough")

    async def _no(self, socket: WebSocket) -> None:
        await socket.send_denial_response(PlainTextResponse("no", 418))

    async def _elsewhere(self, socket: WebSocket) -> None:
        await socket.send_denial_response(RedirectResponse("/echo"))


class Rig:
    """What a test has before anything runs: the agent and somebody who may open it."""

    def __init__(self, access: Access, agent: Agent) -> None:
        self.access, self.agent, self.ui = access, agent, FakeUI()

    @asynccontextmanager
    async def open(self, *, ui: bool = True) -> AsyncIterator["Web"]:
        async with contextlib.AsyncExitStack() as held:
            if ui:
                await held.enter_async_context(served(self.ui.app, ADDRESS, PORT))
            port = await held.enter_async_context(served(make_app(), "127.0.0.1", 0))
            client = httpx.AsyncClient(trust_env=False, timeout=20)
            yield Web(self, port, await held.enter_async_context(client))


class Web:
    """A browser at the agent's host, with a cookie jar as small as can be."""

    def __init__(self, rig: Rig, port: int, client: httpx.AsyncClient) -> None:
        self._rig, self._port, self._client = rig, port, client
        self.ui, self.cookie = rig.ui, ""
        self.host, self.origin = web_host(rig.agent.pk), web_origin(rig.agent.pk)

    async def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {"Host": self.host, "Cookie": self.cookie, **more.pop("headers", {})}
        url = httpx.URL(f"http://127.0.0.1:{self._port}").copy_with(raw_path=path.encode())
        request = httpx.Request(
            method,
            url,
            headers={name: value for name, value in headers.items() if value is not None},
            extensions={"timeout": httpx.Timeout(20).as_dict()},
            **more,
        )
        self._client.cookies.clear()
        return await self._client.send(request)

    async def get(self, path: str, **headers: Any) -> httpx.Response:
        return await self.ask("GET", path, headers=headers)

    async def post(self, path: str, **more: Any) -> httpx.Response:
        headers = {"Origin": self.origin, **more.pop("headers", {})}
        return await self.ask("POST", path, headers=headers, **more)

    async def enter(
        self, ticket: str | None = None, origin: str | None = DASHBOARD
    ) -> httpx.Response:
        """Its cookie is sent from then on."""
        if ticket is None:
            ticket = self.ticket()
        answer = await self.post(
            "/.roost/enter", headers={"Origin": origin}, content=f"ticket={ticket}".encode()
        )
        self.cookie = answer.headers.get("set-cookie", "").partition(";")[0]
        return answer

    def ticket(self, verb: str = "web", agent_id: str = "") -> str:
        return tickets.issue(self._rig.access, agent_id or self._rig.agent.pk, verb)

    @asynccontextmanager
    async def stream(self, path: str) -> AsyncIterator[httpx.Response]:
        headers = {"Host": self.host, "Cookie": self.cookie}
        url = f"http://127.0.0.1:{self._port}{path}"
        async with self._client.stream("GET", url, headers=headers) as response:
            yield response

    def socket(self, path: str, **more: Any) -> connect:
        more = {"origin": self.origin, "proxy": None, **more}
        headers = {"Cookie": self.cookie, "X-Forwarded-For": "6.6.6.6"} if self.cookie else {}
        url = f"ws://{self.host}{path}"
        options = {"host": "127.0.0.1", "port": self._port, "additional_headers": headers}
        return connect(url, **options, **more)


@asynccontextmanager
async def served(app: ASGIApp, host: str, port: int) -> AsyncIterator[int]:
    """As uvicorn serves it in production; the port it got."""
    config = uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=0)
    server = uvicorn.Server(config)
    with sockets.create_server((host, port)) as listening:
        task = asyncio.create_task(server.serve([listening]))
        try:
            async with asyncio.timeout(10):
                while not server.started:
                    await asyncio.sleep(0.005)
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            await task


__all__ = ["ClientConnection", "FakeUI", "Rig", "Web", "served"]
