"""Talking to an agent, and reading what was said. One JSON object a line, as it comes."""

import asyncio
import dataclasses
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, TypeVar

import httpx
from starlette.requests import Request
from starlette.responses import Response

from provisioner.gateway.door import Caller, GatewayProblem, endpoint_of, let_in, translated
from provisioner.gateway.streams import Lines
from provisioner.gateway.turns import under_way
from runtimes.adapter import (
    ChatEvent,
    Completed,
    Delta,
    Failed,
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
T = TypeVar("T")


async def conversations(request: Request) -> Response:
    caller = await let_in(request, "history")
    adapter, endpoint = endpoint_of(caller.agent)
    rows = await read(caller, lambda http: adapter.conversations(http, endpoint))
    return await answer({"conversations": rows})


async def history(request: Request) -> Response:
    """The newest messages, oldest of these first."""
    caller = await let_in(request, "history")
    adapter, endpoint = endpoint_of(caller.agent)
    conversation = _checked(request.query_params.get("conversation"))

    async def asked(http: httpx.AsyncClient) -> dict[str, Any]:
        rows = await adapter.history(http, endpoint, conversation)
        named = conversation or await adapter.main(http, endpoint)
        return {"conversation": named, "messages": rows[-MOST_MESSAGES:]}

    return await answer(await read(caller, asked))


async def send(request: Request) -> Response:
    caller = await let_in(request, "chat")
    adapter, endpoint = endpoint_of(caller.agent)  # refuses before the answer begins
    text, conversation = await _asked(request)
    return Lines(told(caller, lambda http: adapter.stream(http, endpoint, text, conversation)))


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


async def read(caller: Caller, ask: Callable[[httpx.AsyncClient], Awaitable[T]]) -> T:
    """An answer that is no turn. Raises GatewayProblem."""
    try:
        async with asyncio.timeout(PATIENCE), capped_client(MOST_ANSWER) as http:
            return await ask(http)
    except RuntimeProblem as error:
        raise translated(caller.agent, error) from error
    except TimeoutError as error:
        raise translated(caller.agent, RuntimeUnreachable()) from error


async def told(
    caller: Caller, begin: Callable[[httpx.AsyncClient], AsyncGenerator[ChatEvent, None]]
) -> AsyncGenerator[str, None]:
    """What an agent does, line by line; the last is always completed or failed."""
    try:
        async with (
            under_way(caller.agent.pk),
            capped_client(MOST_TURN) as http,
            aclosing(begin(http)) as events,
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


async def answer(body: Mapping[str, Any]) -> Response:
    """`body` as JSON, with the adapters' dataclasses and times in it."""

    def plain(value: Any) -> Any:
        if isinstance(value, datetime):
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        return dataclasses.asdict(value) if dataclasses.is_dataclass(value) else str(value)  # type: ignore[arg-type]

    def written() -> bytes:
        return json.dumps(body, ensure_ascii=False, default=plain).encode()

    # In a thread: a long history takes a while to write, and others talk meanwhile.
    return Response(await asyncio.to_thread(written), media_type="application/json")
