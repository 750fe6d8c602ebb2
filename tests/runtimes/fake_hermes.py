"""The part of Hermes' API the adapter uses, with the answers seen from Hermes 0.19.0."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from runtimes.adapter import Endpoint

TOKEN = "t" * 48
ENDPOINT = Endpoint("http://10.0.0.2:8642", TOKEN)


class FakeHermes:
    """Keeps sessions in memory; `turn` is the list of events the next turn sends."""

    def __init__(self) -> None:
        self.sessions: dict[str, dict[str, Any]] = {}
        self.messages: dict[str, list[dict[str, Any]]] = {}
        self.turn: list[tuple[str, dict[str, Any]]] = []
        self.said: list[tuple[str, str]] = []

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.ASGITransport(app=self.app))

    @property
    def app(self) -> Starlette:
        routes = [
            Route("/api/sessions", self.list, methods=["GET"]),
            Route("/api/sessions", self.create, methods=["POST"]),
            Route("/api/sessions/{id}/messages", self.history),
            Route("/api/sessions/{id}/chat/stream", self.chat, methods=["POST"]),
        ]
        return Starlette(routes=routes)

    def answers(self, *parts: str, transcript: list[dict[str, Any]] | None = None) -> None:
        whole = "".join(parts)
        said = [{"role": "assistant", "content": whole}] if transcript is None else transcript
        self.turn = [
            ("run.started", {}),
            *(("assistant.delta", {"delta": part}) for part in parts),
            ("assistant.completed", {"session_id": "main", "content": whole}),
            ("run.completed", {"session_id": "main", "messages": said}),
            ("done", {}),
        ]

    def fails(self, text: str) -> None:
        """As Hermes does: completed, with the error in the place of an answer."""
        self.answers(text, transcript=[{"role": "assistant", "content": "an earlier answer"}])
        del self.turn[1]

    def refusal(self, request: Request, *, session: bool = False) -> Response | None:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return error(401, "Invalid API key")
        if session and request.path_params["id"] not in self.sessions:
            return error(404, "Session not found")
        return None

    async def list(self, request: Request) -> Response:
        if refusal := self.refusal(request):
            return refusal
        limit, offset = int(request.query_params["limit"]), int(request.query_params["offset"])
        page = list(self.sessions.values())[offset : offset + limit]
        return JSONResponse({"data": page, "has_more": len(page) == limit})

    async def create(self, request: Request) -> Response:
        if refusal := self.refusal(request):
            return refusal
        body = await request.json()
        if body["id"] in self.sessions:
            return error(409, "Session already exists")
        if body.get("title") in {s.get("title") for s in self.sessions.values()} - {None}:
            return error(400, "Title already in use by another session")
        self.sessions[body["id"]] = {"id": body["id"], "title": body.get("title")}
        return JSONResponse({"session": self.sessions[body["id"]]}, status_code=201)

    async def history(self, request: Request) -> Response:
        if refusal := self.refusal(request, session=True):
            return refusal
        return JSONResponse({"data": self.messages.get(request.path_params["id"], [])})

    async def chat(self, request: Request) -> Response:
        if refusal := self.refusal(request, session=True):
            return refusal
        self.said.append((request.path_params["id"], (await request.json())["message"]))

        async def events() -> AsyncIterator[str]:
            yield ": keepalive\n\n"
            for name, data in self.turn:
                yield f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")


def error(status: int, message: str) -> Response:
    return JSONResponse({"error": {"message": message}}, status_code=status)
