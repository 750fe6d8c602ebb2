"""Talking to an agent, and reading what was said. One JSON object a line, as it comes."""

import dataclasses
import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from provisioner.gateway.door import Caller, GatewayProblem, endpoint_of, let_in, translated
from runtimes.adapter import ChatEvent, Completed, Delta, Failed, RuntimeProblem, ToolUse
from runtimes.capped import capped_client

NAMES = {Delta: "delta", ToolUse: "tool", Completed: "completed", Failed: "failed"}
MOST_TEXT = 100_000  # characters
MOST_ANSWER = 32 * 1024 * 1024  # bytes: a long history, and no flood


async def conversations(request: Request) -> Response:
    caller = await let_in(request, "history")
    adapter, endpoint = endpoint_of(caller.agent)
    try:
        async with capped_client(MOST_ANSWER) as http:
            rows = await adapter.conversations(http, endpoint)
    except RuntimeProblem as error:
        raise translated(caller.agent, error) from error
    return _json({"conversations": [dataclasses.asdict(row) for row in rows]})


async def history(request: Request) -> Response:
    caller = await let_in(request, "history")
    adapter, endpoint = endpoint_of(caller.agent)
    conversation = request.query_params.get("conversation") or None
    try:
        async with capped_client(MOST_ANSWER) as http:
            rows = await adapter.history(http, endpoint, conversation)
    except RuntimeProblem as error:
        raise translated(caller.agent, error) from error
    messages = [dataclasses.asdict(row) for row in rows]
    return _json({"conversation": conversation, "messages": messages})


async def send(request: Request) -> Response:
    caller = await let_in(request, "chat")
    endpoint_of(caller.agent)  # refuse before the answer begins
    text, conversation = await _read(request)
    return StreamingResponse(_turn(caller, text, conversation), media_type="application/x-ndjson")


async def _read(request: Request) -> tuple[str, str | None]:
    try:
        body = await request.json()
        text, conversation = body["text"], body.get("conversation")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise GatewayProblem(400, "broken_body", "The body must be JSON with a text.") from error
    fits = isinstance(text, str) and 0 < len(text) <= MOST_TEXT
    if not fits or not (conversation is None or isinstance(conversation, str)):
        raise GatewayProblem(400, "broken_body", "The text is too long, or not text.")
    return text, conversation


async def _turn(caller: Caller, text: str, conversation: str | None) -> AsyncIterator[str]:
    try:
        adapter, endpoint = endpoint_of(caller.agent)
        async with capped_client(MOST_ANSWER) as http:
            async for event in adapter.stream(http, endpoint, text, conversation):
                yield _line(event)
    except RuntimeProblem as error:
        problem = translated(caller.agent, error)
        yield _line(Failed(problem.code, str(problem)))
    except GatewayProblem as problem:
        yield _line(Failed(problem.code, str(problem)))


def _line(event: ChatEvent) -> str:
    said = {"type": NAMES[type(event)], **dataclasses.asdict(event)}
    return json.dumps(said, ensure_ascii=False) + "\n"


def _json(data: dict[str, Any]) -> Response:
    return JSONResponse(json.loads(json.dumps(data, default=str)))
