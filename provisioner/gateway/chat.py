"""Talking to an agent, and reading what was said. One JSON object a line, as it comes."""

import asyncio
import dataclasses
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TypeVar

import httpx
from starlette.requests import Request
from starlette.responses import Response

from provisioner.gateway.door import Caller, GatewayProblem, endpoint_of, let_in, translated
from provisioner.gateway.streams import Lines
from runtimes.adapter import (
    Adapter,
    ChatEvent,
    Completed,
    Conversation,
    Delta,
    Endpoint,
    Failed,
    Message,
    RuntimeProblem,
    RuntimeUnreachable,
    ToolUse,
)
from runtimes.capped import capped_client

log = logging.getLogger(__name__)

NAMES = {Delta: "delta", ToolUse: "tool", Completed: "completed", Failed: "failed"}
MOST_TEXT = 100_000  # characters
MOST_ID = 200  # characters
MOST_ANSWER = 8 * 1024 * 1024  # bytes: a long history, and no flood
MOST_MESSAGES = 1000  # the newest are shown
MOST_TURN = 32 * 1024 * 1024  # bytes: each word of a turn is wrapped in two hundred
PATIENCE = 30.0  # seconds for a whole answer that is no turn
Row = TypeVar("Row", Conversation, Message)


async def conversations(request: Request) -> Response:
    caller = await let_in(request, "history")
    adapter, endpoint = endpoint_of(caller.agent)
    rows = await _read(caller, lambda http: adapter.conversations(http, endpoint))
    return await _answer("conversations", rows)


async def history(request: Request) -> Response:
    """The newest messages, oldest of these first."""
    caller = await let_in(request, "history")
    adapter, endpoint = endpoint_of(caller.agent)
    conversation = _checked(request.query_params.get("conversation"))
    rows = await _read(caller, lambda http: adapter.history(http, endpoint, conversation))
    return await _answer("messages", rows[-MOST_MESSAGES:], conversation=conversation)


async def send(request: Request) -> Response:
    caller = await let_in(request, "chat")
    adapter, endpoint = endpoint_of(caller.agent)  # refuses before the answer begins
    text, conversation = await _asked(request)
    return Lines(_turn(caller, adapter, endpoint, text, conversation))


async def _asked(request: Request) -> tuple[str, str | None]:
    try:
        body = await request.json()
        text, conversation = body["text"], body.get("conversation")
        (text + (conversation or "")).encode()  # JSON may hold halves of a letter
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise GatewayProblem(400, "broken_body", "The body must be JSON with a text.") from error
    if not 0 < len(text) <= MOST_TEXT:
        raise GatewayProblem(400, "broken_body", "The text is too long, or not text.")
    return text, _checked(conversation)


def _checked(conversation: str | None) -> str | None:
    if conversation and len(conversation) > MOST_ID:
        raise GatewayProblem(404, "conversation_not_found", "There is no such conversation.")
    return conversation or None


async def _read(
    caller: Caller, ask: Callable[[httpx.AsyncClient], Awaitable[Sequence[Row]]]
) -> Sequence[Row]:
    try:
        async with asyncio.timeout(PATIENCE), capped_client(MOST_ANSWER) as http:
            return await ask(http)
    except RuntimeProblem as error:
        raise translated(caller.agent, error) from error
    except TimeoutError as error:
        raise translated(caller.agent, RuntimeUnreachable()) from error


async def _turn(
    caller: Caller, adapter: Adapter, endpoint: Endpoint, text: str, conversation: str | None
) -> AsyncGenerator[str, None]:
    try:
        async with (
            capped_client(MOST_TURN) as http,
            aclosing(adapter.stream(http, endpoint, text, conversation)) as events,
        ):
            async for event in events:
                yield _line(event)
    except RuntimeProblem as error:
        problem = translated(caller.agent, error)
        yield _line(Failed(problem.code, str(problem)))
    except Exception:
        log.exception("a turn of %s ended in an error of ours", caller.agent.pk)
        said = "The gateway met an error of its own. Look at the conversation before you go on."
        yield _line(Failed("gateway_failed", said))


def _line(event: ChatEvent) -> str:
    said = {"type": NAMES[type(event)], **dataclasses.asdict(event)}
    return json.dumps(said, ensure_ascii=False) + "\n"


async def _answer(name: str, rows: Sequence[Row], **more: str | None) -> Response:
    def written() -> bytes:
        body = {name: [dataclasses.asdict(row) for row in rows], **more}
        return json.dumps(body, ensure_ascii=False, default=str).encode()

    # In a thread: a long history takes a while to write, and others talk meanwhile.
    return Response(await asyncio.to_thread(written), media_type="application/json")
