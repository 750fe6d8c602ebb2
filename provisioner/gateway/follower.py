"""Following an agent's log for one reader, across restarts and replacement.

The engine's stream ends with its container and with the engine, without a word; the follower
then looks again and goes on from the last time it saw, so nothing is missing or twice.
"""

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Iterator

from provisioner.engines.base import Engine, EngineRefused, EngineUnavailable, LogLine
from provisioner.gateway.door import GatewayProblem

log = logging.getLogger(__name__)

AGAIN = 0.5  # seconds between two looks for a container
BACKLOG = 2000  # lines a slow reader may be behind
MOST_OF_ONE, MOST = 20, 200  # followers of one agent, and in all

Item = LogLine | str  # a line, or a sentence about the container


class Places:
    """Each follower costs a thread and a connection to the engine, and so has a place."""

    def __init__(self) -> None:
        self._taken = Counter[str]()
        self._lock = threading.Lock()

    def take(self, agent_id: str) -> None:
        """Raises GatewayProblem 429."""
        with self._lock:
            if self._taken[agent_id] >= MOST_OF_ONE or self._taken.total() >= MOST:
                raise GatewayProblem(
                    429,
                    "too_many_followers",
                    "Too many readers follow logs just now. Close one, or read without "
                    "following; a reader who has left is forgotten within 15 seconds.",
                )
            self._taken[agent_id] += 1

    def give_back(self, agent_id: str) -> None:
        with self._lock:
            self._taken[agent_id] -= 1
            self._taken += Counter()  # forgets those who are at zero

    def __len__(self) -> int:
        return self._taken.total()


places = Places()


class Follower:
    """Reads in a thread of its own from when it is made until `close`, which must be called.

    Its place is free when the thread has ended: that is what there may not be many of.
    """

    def __init__(self, agent_id: str, engine: Engine, name: str, since: str) -> None:
        """Raises GatewayProblem 429."""
        self._agent_id, self._engine, self._name, self._since = agent_id, engine, name, since
        self._queue: asyncio.Queue[Item | None] = asyncio.Queue(BACKLOG)
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        places.take(agent_id)
        try:
            threading.Thread(target=self._read, name=f"log {name}", daemon=True).start()
        except RuntimeError:  # the machine has no more threads
            places.give_back(agent_id)
            raise

    async def next(self) -> Item | None:
        """None after the last."""
        return await self._queue.get()

    def close(self) -> None:
        self._stop.set()

    def _read(self) -> None:
        try:
            for item in follow_forever(self._engine, self._name, self._since, self._stop):
                self._put(item)
        except Exception:
            log.exception("following %s ended in an error of ours", self._name)
        finally:
            places.give_back(self._agent_id)
            self._put(None)

    def _put(self, item: Item | None) -> None:
        if self._stop.is_set():
            return
        future = asyncio.run_coroutine_threadsafe(self._queue.put(item), self._loop)
        while not self._stop.is_set():
            try:
                future.result(0.5)
                return
            except TimeoutError:
                continue
        future.cancel()


def follow_forever(engine: Engine, name: str, last: str, stop: threading.Event) -> Iterator[Item]:
    """Lines, and a sentence where the container was replaced. Blocks; ends when stopped."""
    known = ""
    while not stop.is_set():
        try:
            container = engine.inspect(name)
            if container is not None:
                if known and container.id != known:
                    yield "Container replaced. Nothing is missing."
                known = container.id
                for line in engine.log_follow(name, last):
                    last = line.at
                    yield line
                    if stop.is_set():
                        return
        except (EngineUnavailable, EngineRefused):
            pass  # not knowing is not an end: look again
        stop.wait(AGAIN)
