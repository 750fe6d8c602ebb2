"""The HTTP API. What is asked of a turn is answered in server-sent events."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Lifespan

from runtimes.opensre.host.door import Door, Problem, problem, read
from runtimes.opensre.host.events import sse
from runtimes.opensre.host.store import Store
from runtimes.opensre.host.turns import Heard, Turns, UnknownConversation
from runtimes.opensre.host.work import Busy

log = logging.getLogger(__name__)


class Api:
    def __init__(self, store: Store, turns: Turns) -> None:
        self._store = store
        self._turns = turns

    async def ok(self, _: Request) -> Response:
        return JSONResponse({"status": "ok", "service": "opensre-host"})

    async def ready(self, _: Request) -> Response:
        """Only the disk can make it unready: a missing key is for the turn to tell."""
        await asyncio.to_thread(self._store.conversations)
        return JSONResponse({"status": "ready"})

    async def conversations(self, _: Request) -> Response:
        found = await asyncio.to_thread(self._store.conversations)
        return JSONResponse({"conversations": found})

    async def history(self, request: Request) -> Response:
        conversation = request.path_params["id"]
        if not await asyncio.to_thread(self._store.exists, conversation):
            raise UnknownConversation
        found = await asyncio.to_thread(self._store.history, conversation)
        return JSONResponse({"messages": found})

    async def say(self, request: Request) -> Response:
        text = (await read(request)).get("text")
        if not isinstance(text, str) or not text.strip():
            raise Problem(HTTPStatus.BAD_REQUEST, "The body needs a text that is not empty.")
        return streamed(await self._turns.say(request.path_params["id"], text))

    async def investigations(self, _: Request) -> Response:
        found = await asyncio.to_thread(self._store.investigations)
        return JSONResponse({"investigations": found})

    async def investigation(self, request: Request) -> Response:
        found = await asyncio.to_thread(self._store.investigation, request.path_params["id"])
        if found is None:
            raise Problem(HTTPStatus.NOT_FOUND, "There is no investigation of this id.")
        return JSONResponse({"investigation": found})

    async def investigate(self, request: Request) -> Response:
        alert = (await read(request)).get("alert")
        if not isinstance(alert, dict) or not alert:
            raise Problem(HTTPStatus.BAD_REQUEST, "The body needs an alert: an object.")
        return streamed(await self._turns.investigate(alert))


def streamed(heard: Heard) -> Response:
    async def frames() -> AsyncIterator[bytes]:
        async for event in heard:
            yield sse(event) if event else b": still at it\n\n"

    return StreamingResponse(frames(), media_type="text/event-stream")


def refused(_: Request, error: Exception) -> Response:
    match error:
        case Problem():
            return problem(error.status, error.message)
        case UnknownConversation():
            return problem(HTTPStatus.NOT_FOUND, "There is no conversation of this id.")
        case Busy():
            return problem(HTTPStatus.TOO_MANY_REQUESTS, str(error))
        case HTTPException():
            return problem(error.status_code, error.detail)
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong; the log says what.")


def disk_trouble(_: Request, error: Exception) -> Response:
    log.warning("The database answered: %s", error)
    if "full" in str(error):
        return problem(
            HTTPStatus.INSUFFICIENT_STORAGE,
            "The workspace is full. Delete files or give it a larger disk.",
        )
    return problem(HTTPStatus.SERVICE_UNAVAILABLE, f"The conversations cannot be read: {error}.")


def host(
    store: Store, turns: Turns, token: str, lifespan: Lifespan[Starlette] | None = None
) -> Starlette:
    api = Api(store, turns)
    routes = [
        Route("/ok", api.ok),
        Route("/ready", api.ready),
        Route("/conversations", api.conversations),
        Route("/conversations/{id}/messages", api.history, methods=["GET"]),
        Route("/conversations/{id}/messages", api.say, methods=["POST"]),
        Route("/investigations", api.investigations, methods=["GET"]),
        Route("/investigations", api.investigate, methods=["POST"]),
        Route("/investigations/{id}", api.investigation),
    ]
    answers = dict.fromkeys((Problem, UnknownConversation, Busy, HTTPException), refused)
    return Starlette(
        routes=routes,
        middleware=[Middleware(Door, token=token)],
        exception_handlers={**answers, sqlite3.Error: disk_trouble},
        lifespan=lifespan,
    )
