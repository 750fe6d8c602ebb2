"""Callers of the gateway: one that waits for the whole answer, one that can leave any time."""

import asyncio
from types import TracebackType
from typing import Any

import httpx

from controlplane.agents import tickets
from controlplane.agents.models import Agent
from controlplane.tenants.access import Access
from provisioner.gateway.app import make_app


class Caller:
    def __init__(self, access: Access, agent: Agent) -> None:
        self._agent = agent
        self._tickets = {
            verb: tickets.issue(access, agent.pk, verb)
            for verb in ("history", "chat", "logs", "checkpoints", "snapshots")
        }

    def path(self, name: str) -> str:
        return f"/gateway/agents/{self._agent.pk}/{name}"

    async def get(self, verb: str, name: str, **query: str) -> httpx.Response:
        headers = {"X-Roost-Ticket": self._tickets[verb]}
        transport = httpx.ASGITransport(make_app(), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
            return await client.get(self.path(name), params=query, headers=headers)

    def visit(self, verb: str, name: str, query: str = "", body: bytes = b"") -> "Visit":
        method = "POST" if body else "GET"
        return Visit(method, self.path(name), query, body, self._tickets[verb])


class Visit:
    """A request as the server brings it. Leaving the block cancels what is left of it."""

    def __init__(self, method: str, path: str, query: str, body: bytes, ticket: str) -> None:
        self._scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},  # as uvicorn says
            "http_version": "1.1",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [(b"x-roost-ticket", ticket.encode())],
        }
        self._body: bytes | None = body
        self._left = asyncio.Event()
        self._heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def __aenter__(self) -> "Visit":
        self.task = asyncio.create_task(make_app()(self._scope, self._receive, self._send))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])

    def leave(self) -> None:
        self._left.set()

    async def line(self) -> bytes:
        """The next that is no sign of life."""
        async with asyncio.timeout(10):
            while not (heard := await self._heard.get()).strip():
                pass
            return heard

    async def _receive(self) -> dict[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif message["body"]:
            await self._heard.put(message["body"])
