"""Asking agents whether they are well: by the body of the health path, and by a real request
with the agent's own token. The engine is not asked; a process that is up proves little."""

import asyncio
import time
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol

import httpx

from runtimes import health
from runtimes.adapter import Checker, Completed, Endpoint, RuntimeProblem, load_adapter
from runtimes.capped import capped_client
from runtimes.catalog import Runtime

INTERVAL = 0.05  # seconds between two questions to an agent that is starting
AT_ONCE = 50
MESSAGES_S = 30.0
SPEAKS_S = 90.0  # seconds: a first turn loads much, and models take their time
HELLO = "This is a check by the platform. Please answer with one word: ok."
MOST_HISTORY = 8 * 1024 * 1024  # bytes: a long one, and no flood
MOST_ANSWER = 4 * 1024 * 1024  # bytes: each word of a turn is wrapped in two hundred
MOST = 64 * 1024  # bytes of an answer: a health body is a line


@dataclass(frozen=True)
class Target:
    agent_id: str
    runtime: Runtime
    address: str
    token: str = field(repr=False)
    own: Mapping[str, str] = field(default_factory=dict, repr=False)
    blank: bool = False  # not set up yet: it can only be asked whether it is alive

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(f"http://{self.address}:{self.runtime.port}", self.token, self.own)


class Prober(Protocol):
    def wait(self, target: Target, seconds: float) -> bool:
        """Ask again and again for that long, and at least once; True as soon as it is well. The
        last answer may come TIMEOUT_S later."""

    def check(self, targets: Iterable[Target]) -> dict[str, bool]:
        """Ask each once, many at a time."""

    def messages(self, target: Target) -> int | None:
        """How many its main conversation holds; None where it does not say. It waits MESSAGES_S."""

    def speaks(self, target: Target) -> bool | None:
        """Whether it answers one short message, in a conversation of the platform's own; None
        where a runtime cannot have one. It waits SPEAKS_S. The model that answers is paid for."""


class HttpProber:
    def wait(self, target: Target, seconds: float) -> bool:
        return asyncio.run(self._wait(target, seconds))

    def check(self, targets: Iterable[Target]) -> dict[str, bool]:
        return asyncio.run(self._check(list(targets)))

    def messages(self, target: Target) -> int | None:
        return asyncio.run(_messages(target))

    def speaks(self, target: Target) -> bool | None:
        return asyncio.run(_speaks(target))

    async def _wait(self, target: Target, seconds: float) -> bool:
        end = time.monotonic() + seconds
        try:
            # Two questions in a row may take twice as long as one.
            async with asyncio.timeout(seconds + health.TIMEOUT_S), capped_client(MOST) as client:
                while not await _is_well(client, target):
                    if time.monotonic() >= end:
                        return False
                    await asyncio.sleep(INTERVAL)
                return True
        except TimeoutError:
            return False

    async def _check(self, targets: list[Target]) -> dict[str, bool]:
        gate = asyncio.Semaphore(AT_ONCE)
        async with capped_client(MOST) as client:

            async def ask(target: Target) -> tuple[str, bool]:
                async with gate:
                    return target.agent_id, await _is_well(client, target)

            return dict(await asyncio.gather(*map(ask, targets)))


class FakeProber:
    """Beside the fake engine: an agent is well unless it is listed as deaf."""

    def __init__(self) -> None:
        self.deaf: set[str] = set()
        self.said: dict[str, int | None] = {}  # messages, by agent
        self.speaking: dict[str, bool | None] = {}  # whether one answers, by agent

    def wait(self, target: Target, seconds: float) -> bool:
        return target.agent_id not in self.deaf

    def check(self, targets: Iterable[Target]) -> dict[str, bool]:
        return {target.agent_id: target.agent_id not in self.deaf for target in targets}

    def messages(self, target: Target) -> int | None:
        return self.said.get(target.agent_id, 0)

    def speaks(self, target: Target) -> bool | None:
        return self.speaking.get(target.agent_id, True)


async def _messages(target: Target) -> int | None:
    adapter = load_adapter(target.runtime)
    try:
        async with asyncio.timeout(MESSAGES_S), capped_client(MOST_HISTORY) as client:
            return len(await adapter.history(client, target.endpoint))
    except (RuntimeProblem, TimeoutError):
        return None


async def _speaks(target: Target) -> bool | None:
    adapter = load_adapter(target.runtime)
    if not isinstance(adapter, Checker):
        return None
    try:
        async with (
            asyncio.timeout(SPEAKS_S),
            capped_client(MOST_ANSWER) as client,
            aclosing(adapter.check(client, target.endpoint, HELLO)) as events,
        ):
            async for event in events:
                if isinstance(event, Completed):
                    return bool(event.text.strip())
    except (RuntimeProblem, TimeoutError):
        pass
    return False


async def _is_well(client: httpx.AsyncClient, target: Target) -> bool:
    endpoint = target.endpoint
    if not await health.is_healthy(client, target.runtime, endpoint.base_url):
        return False
    return target.blank or await health.answers(client, target.runtime, endpoint)
