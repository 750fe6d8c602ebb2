"""One turn through chat completions: what the agent says, as it says it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

import httpx

from runtimes.adapter import (
    ChatEvent,
    Completed,
    Delta,
    Endpoint,
    Failed,
    RuntimeRefused,
    RuntimeUnreachable,
)
from runtimes.asking import exchange
from runtimes.openclaw.asking import TURN_TIMEOUT, ask, history_of
from runtimes.openclaw.reading import chunk_of, said_by_person, understood
from runtimes.reading import an_object, objects, parsed
from runtimes.sse import server_events

DONE = "[DONE]"
# After a restart OpenClaw takes up the turn it cut off, and for some seconds begins no other there.
# It calls that an internal error; only the transcript tells it from others.
BUSY = Failed("turn_failed", "internal error")
TRIES, PAUSE_S = 15, 3.0
LAST = 8  # messages in which ours is, if it is in at all


@dataclass(frozen=True)
class Began:
    """OpenClaw took the turn up, as this run, at this moment (in seconds of its own clock)."""

    run: str
    at: float


async def answer(
    client: httpx.AsyncClient, endpoint: Endpoint, key: str, text: str
) -> AsyncGenerator[Began | ChatEvent, None]:
    """A turn that was refused before it was begun is asked for again."""
    for left in reversed(range(TRIES)):
        began, said = Began("", 0), False
        async with aclosing(attempt(client, endpoint, key, text)) as events:
            async for event in events:
                again = event == BUSY and not said and left > 0
                if again and not await is_begun(client, endpoint, key, text, began.at):
                    break
                began = event if isinstance(event, Began) else began
                said = said or isinstance(event, Delta)
                yield event
            else:
                return
        await asyncio.sleep(PAUSE_S)


async def attempt(
    client: httpx.AsyncClient, endpoint: Endpoint, key: str, text: str
) -> AsyncGenerator[Began | ChatEvent, None]:
    message = {"role": "user", "content": text}
    body = {"model": "openclaw/default", "stream": True, "messages": [message]}
    to, path = {"x-openclaw-session-key": key}, "/v1/chat/completions"
    said, run, finished = list[str](), "", False
    async with (
        exchange(
            client, endpoint, "POST", path, body, timeout=TURN_TIMEOUT, headers=to
        ) as response,
        aclosing(server_events(response)) as events,
    ):
        async for event in events:
            if finished and event.data == DONE:
                yield Completed(key, "".join(said))
                return
            with understood():
                chunk = chunk_of(an_object(await parsed(event.data)))
            if isinstance(chunk, Failed):
                yield chunk
                return
            if not run and (run := chunk.run):
                yield Began(run, chunk.at)
            if chunk.text:
                said.append(chunk.text)
                yield Delta(chunk.text)
            finished = finished or chunk.last
    raise RuntimeUnreachable("The agent's runtime ended in the middle of its answer.")


async def is_begun(
    client: httpx.AsyncClient, endpoint: Endpoint, key: str, text: str, since: float
) -> bool:
    """Whether the person's message stands in the transcript, so that asking again says it twice."""
    try:
        body = await ask(client, endpoint, "GET", f"{history_of(key)}?limit={LAST}")
    except RuntimeRefused as refusal:
        return refusal.status != httpx.codes.NOT_FOUND
    with understood():
        return any(said_by_person(item, text, since) for item in objects(body["messages"]))
