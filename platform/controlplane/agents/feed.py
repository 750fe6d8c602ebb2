"""Telling open pages and streams that an agent changed.

One poller per process, however many listen: it asks for new lines of the timeline a few
times a second while somebody listens, and not at all otherwise. It needs neither the
queue nor the worker, so a page stays live while those are away.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from django.db import Error

from controlplane.agents.models import Event
from controlplane.database import from_async

INTERVAL = 0.3  # seconds
OVERLAP = 50  # ids looked at again: a smaller id may be committed after a larger one


class Feed:
    def __init__(self) -> None:
        self._queues: dict[str, set[asyncio.Queue[int]]] = defaultdict(set)
        self._poller: asyncio.Task[None] | None = None
        self._begun = asyncio.Event()

    @asynccontextmanager
    async def listen(self, *agent_ids: str) -> AsyncIterator[asyncio.Queue[int]]:
        """A queue that gets the id of each new event of these agents."""
        queue: asyncio.Queue[int] = asyncio.Queue(maxsize=1000)
        for agent_id in agent_ids:
            self._queues[agent_id].add(queue)
        if self._poller is None or self._poller.done():
            # No pause between the question and these lines, or two listeners would start two.
            self._begun = asyncio.Event()
            self._poller = asyncio.create_task(self._poll(self._begun))
        try:
            await self._begun.wait()  # what happens from here on is told
            yield queue
        finally:
            for agent_id in agent_ids:
                self._queues[agent_id].discard(queue)
                if not self._queues[agent_id]:
                    del self._queues[agent_id]

    async def _poll(self, begun: asyncio.Event) -> None:
        seen = await self._first()
        begun.set()
        while self._queues:
            await asyncio.sleep(INTERVAL)
            try:
                rows = await from_async(_since)(max(seen, default=0) - OVERLAP)
            except Error:
                continue  # the database is away for a moment; pages keep what they show
            for event_id, agent_id in rows:
                if event_id in seen:
                    continue
                seen.add(event_id)
                for queue in self._queues.get(agent_id, ()):
                    if not queue.full():
                        queue.put_nowait(event_id)
            horizon = max(seen, default=0) - 2 * OVERLAP
            seen = {event_id for event_id in seen if event_id >= horizon}

    async def _first(self) -> set[int]:
        """What was there before anybody listened."""
        while True:
            try:
                newest = await from_async(_newest)()
            except Error:
                await asyncio.sleep(INTERVAL)
                continue
            return set(range(newest - OVERLAP, newest + 1))


def _newest() -> int:
    return Event.objects.order_by("-id").values_list("id", flat=True).first() or 0


def _since(event_id: int) -> list[tuple[int, str]]:
    rows = Event.objects.filter(id__gt=event_id).order_by("id").values_list("id", "agent_id")
    return list(rows[:2000])


feed = Feed()
