"""Pages that stay true: parts are drawn again and sent as server-sent events when they change.

`controlplane.agents.feed` says when an agent has news; the parts are compared then, often while
something is under way, and now and then anyway. None of it needs the queue, so a page goes on
while the queue is away, and a message that got lost cannot leave a page wrong.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Hashable, Mapping
from functools import partial
from typing import Protocol

from django.http import StreamingHttpResponse

from controlplane.agents.feed import feed
from controlplane.agents.sse import event, stream
from controlplane.database import in_thread
from controlplane.tenants.access import Access

HURRIED, CALM = 1.0, 5.0  # seconds between two looks without news
QUIET = 15.0  # a comment after so much silence finds out that nobody listens any more
LIFE = 300.0  # then the browser comes again: no line is kept for ever


class Parts(Protocol):
    """Parts of a page by event name. `look` and `draw` are called in threads of the process."""

    hurried: bool  # something is under way: look often
    agents: list[str]  # whose news concern these parts
    access: Access  # who looks

    def look(self) -> Mapping[str, Hashable]:
        """What each part shows, as something to compare. A few small queries."""

    def draw(self, names: set[str]) -> Mapping[str, str]:
        """These parts as HTML."""


def version(seen: Mapping[str, Hashable]) -> str:
    """Says in an address what a page shows, so that a new stream need not repeat it."""
    return hashlib.blake2s(repr(sorted(seen.items())).encode(), digest_size=8).hexdigest()


def answer(parts: Parts, shown: str) -> StreamingHttpResponse:
    return stream(follow(parts, shown))


async def follow(parts: Parts, shown: str) -> AsyncIterator[str]:
    """Every change of these parts, until whoever looks may not any more. `shown` is the version
    of what the page shows already."""
    yield "retry: 1000\n\n"
    seen = await in_thread(partial(_look, parts))
    if seen is None:
        return
    if version(seen) != shown:
        yield await _drawn(parts, set(seen))
    started = spoke = time.monotonic()
    async with feed.listen(*parts.agents) as news:
        while time.monotonic() - started < LIFE:
            await _wait(news, HURRIED if parts.hurried else CALM)
            now = await in_thread(partial(_look, parts))
            if now is None:
                return
            changed = {name for name, value in now.items() if seen.get(name) != value}
            seen = now
            if changed:
                yield await _drawn(parts, changed)
            if changed or time.monotonic() - spoke > QUIET:
                spoke = time.monotonic()
                yield ": still here\n\n"


def _look(parts: Parts) -> Mapping[str, Hashable] | None:
    """None when the right to look is gone: asked each time, so a page outlives it by a look."""
    return parts.look() if parts.access.still_may("agents:read") else None


async def _wait(news: asyncio.Queue[int], seconds: float) -> None:
    """Until there is news or the time is over; what came at once is looked at once."""
    try:
        await asyncio.wait_for(news.get(), seconds)
    except TimeoutError:
        return
    while not news.empty():
        news.get_nowait()


async def _drawn(parts: Parts, names: set[str]) -> str:
    drawn = await in_thread(lambda: parts.draw(names))
    return "".join(event(name, html) for name, html in drawn.items())
