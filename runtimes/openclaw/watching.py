"""The tools of a turn: chat completions do not tell them, the transcript does as it grows."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx

from runtimes.adapter import Endpoint, RuntimeRefused
from runtimes.asking import exchange
from runtimes.openclaw.asking import TIMEOUT, history_of
from runtimes.openclaw.reading import Use, understood, uses_of
from runtimes.reading import an_object, objects, parsed
from runtimes.sse import server_events

STREAM = {"Accept": "text/event-stream"}
LAST = 8  # messages that are sent again whenever one is added
FIRST_TURN_S = 1.0  # until a conversation that only begins with this turn may be there


async def watch(
    client: httpx.AsyncClient, endpoint: Endpoint, key: str
) -> AsyncGenerator[Use, None]:
    """Each use of a tool in this conversation, as often as it is told, until it is closed."""
    while True:
        try:
            async with aclosing(added(client, endpoint, key)) as uses:
                async for use in uses:
                    yield use
            return
        except RuntimeRefused as refusal:
            if refusal.status != httpx.codes.NOT_FOUND:
                raise
        await asyncio.sleep(FIRST_TURN_S)


async def added(
    client: httpx.AsyncClient, endpoint: Endpoint, key: str
) -> AsyncGenerator[Use, None]:
    path = f"{history_of(key)}?limit={LAST}"
    async with (
        exchange(client, endpoint, "GET", path, timeout=TIMEOUT, headers=STREAM) as response,
        aclosing(server_events(response)) as events,
    ):
        async for event in events:
            with understood():
                messages = objects(an_object(await parsed(event.data)).get("messages") or [])
                found = [use for message in messages for use in uses_of(message)]
            for use in found:
                yield use
