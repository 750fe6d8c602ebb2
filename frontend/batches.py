"""What comes within a moment, together: a burst of lines is one event, not thousands."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TypeVar

T = TypeVar("T")
MOMENT = 0.05  # seconds
MOST = 500


async def batches(items: AsyncIterator[T], quiet: float) -> AsyncGenerator[list[T], None]:
    """Batches of what comes; an empty one after `quiet` seconds of silence. Passes errors on."""
    queue: asyncio.Queue[T] = asyncio.Queue(maxsize=MOST)
    pump = asyncio.create_task(_pump(items, queue))
    try:
        while not (pump.done() and queue.empty()):
            if queue.empty() and not await _something(queue, pump, quiet):
                if not pump.done():
                    yield []
                continue
            await asyncio.sleep(MOMENT)
            yield [queue.get_nowait() for _ in range(queue.qsize())]
        pump.result()
    finally:
        pump.cancel()
        await asyncio.wait({pump})  # what it reads from is closed before we are


async def _something(queue: asyncio.Queue[T], pump: asyncio.Task[None], quiet: float) -> bool:
    """Wait until there is an item, the items end, or the time is over."""
    deadline = asyncio.get_running_loop().time() + quiet
    while queue.empty() and not pump.done():
        left = deadline - asyncio.get_running_loop().time()
        if left <= 0:
            return False
        await asyncio.wait({pump}, timeout=min(MOMENT, left))
    return not queue.empty()


async def _pump(items: AsyncIterator[T], queue: asyncio.Queue[T]) -> None:
    async for item in items:
        await queue.put(item)
