"""Turns that go on though nobody listens any more: their answers belong to the history."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from runtimes.opensre.host.events import Event

# An investigation takes some 50 MB; this many fit into the smallest container.
AT_ONCE, MOST_WAITING = 3, 30
# Below what proxies and adapters take for the end.
KEEP_ALIVE_S = 15.0


class Busy(Exception):
    """More is waiting already than is worth waiting behind."""

    def __init__(self) -> None:
        super().__init__(
            f"The agent has {MOST_WAITING} turns to do already. Send this again when some are done."
        )


class Work:
    def __init__(self, at_once: int = AT_ONCE, keep_alive_s: float = KEEP_ALIVE_S) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._tasks = set[asyncio.Task[None]]()
        self._keep_alive_s = keep_alive_s

    def admit(self) -> None:
        """Raises Busy; asked before anything of a turn is kept."""
        if len(self._tasks) >= MOST_WAITING:
            raise Busy

    def begin(self, steps: AsyncGenerator[Event, None]) -> AsyncIterator[Event | None]:
        """Runs `steps` to their end; yields them, and None now and then while there is nothing."""
        feed = asyncio.Queue[Event | None]()
        task = asyncio.create_task(self._run(steps, feed))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return self._listen(task, feed)

    async def _run(
        self, steps: AsyncGenerator[Event, None], feed: asyncio.Queue[Event | None]
    ) -> None:
        async with self._slots:
            async for event in steps:
                feed.put_nowait(event)

    async def _listen(
        self, task: asyncio.Task[None], feed: asyncio.Queue[Event | None]
    ) -> AsyncIterator[Event | None]:
        task.add_done_callback(lambda _: feed.put_nowait(None))
        while not (task.done() and feed.empty()):
            try:
                async with asyncio.timeout(self._keep_alive_s):
                    yield await feed.get()
            except TimeoutError:
                yield None
