"""Asking agents whether they are well: by the body of the health path, and by a real request
with the agent's own token. The engine is not asked; a process that is up proves little."""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import httpx

from runtimes import health
from runtimes.adapter import Endpoint
from runtimes.capped import capped_client
from runtimes.catalog import Runtime

INTERVAL = 0.05  # seconds between two questions to an agent that is starting
AT_ONCE = 50
MOST = 64 * 1024  # bytes of an answer: a health body is a line


@dataclass(frozen=True)
class Target:
    agent_id: str
    runtime: Runtime
    address: str
    token: str

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(f"http://{self.address}:{self.runtime.port}", self.token)


class Prober(Protocol):
    def wait(self, target: Target, seconds: float) -> bool:
        """Ask again and again for that long, and at least once; True as soon as it is well. The
        last answer may come TIMEOUT_S later."""

    def check(self, targets: Iterable[Target]) -> dict[str, bool]:
        """Ask each once, many at a time."""


class HttpProber:
    def wait(self, target: Target, seconds: float) -> bool:
        return asyncio.run(self._wait(target, seconds))

    def check(self, targets: Iterable[Target]) -> dict[str, bool]:
        return asyncio.run(self._check(list(targets)))

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

    def wait(self, target: Target, seconds: float) -> bool:
        return target.agent_id not in self.deaf

    def check(self, targets: Iterable[Target]) -> dict[str, bool]:
        return {target.agent_id: target.agent_id not in self.deaf for target in targets}


async def _is_well(client: httpx.AsyncClient, target: Target) -> bool:
    endpoint = target.endpoint
    return await health.is_healthy(
        client, target.runtime, endpoint.base_url
    ) and await health.answers(client, target.runtime, endpoint)
