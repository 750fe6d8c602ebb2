"""The host of OpenSRE as it is, around an OpenSRE that says what a test wrote for it."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from runtimes.adapter import Endpoint
from runtimes.opensre.host.app import host
from runtimes.opensre.host.engine import Answer, Finding, Said
from runtimes.opensre.host.events import Delta, ToolUse
from runtimes.opensre.host.store import Store
from runtimes.opensre.host.turns import Turns
from runtimes.opensre.host.work import Work

TOKEN, KEY = "t" * 48, "sk-secret-0123"
ENDPOINT = Endpoint("http://10.0.0.2:8080", TOKEN)
Step = Delta | ToolUse | Answer | Finding | Exception


class FakeOpenSRE:
    """`steps` is what the next turns do; an exception among them is raised."""

    def __init__(self, *steps: Step) -> None:
        self.steps: Sequence[Step] = steps
        self.told: list[list[tuple[str, str]]] = []
        self.alerts: list[tuple[str, Mapping[str, Any]]] = []

    async def chat(self, said: Sequence[Said]) -> AsyncGenerator[Any, None]:
        self.told.append([(one.role, one.text) for one in said])
        async for step in self._play():
            yield step

    async def investigate(self, title: str, alert: Mapping[str, Any]) -> AsyncGenerator[Any, None]:
        self.alerts.append((title, alert))
        async for step in self._play():
            yield step

    async def _play(self) -> AsyncGenerator[Any, None]:
        for step in self.steps:
            if isinstance(step, Exception):
                raise step
            yield step


def answering(text: str) -> FakeOpenSRE:
    return FakeOpenSRE(Answer(text))


class Hosted:
    """A host on a workspace, and a client in front of it."""

    def __init__(self, workspace: Path, engine: FakeOpenSRE) -> None:
        self.engine = engine
        self.store = Store(workspace / ".opensre" / "roost.db")
        self.store.interrupt()
        self.turns = Turns(self.store, engine, Work(), secrets=(KEY, TOKEN))
        app = host(self.store, self.turns, TOKEN)
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app),
            base_url=ENDPOINT.base_url,
            headers={"Authorization": f"Bearer {TOKEN}"},
        )


@asynccontextmanager
async def hosted(workspace: Path, engine: FakeOpenSRE | None = None) -> AsyncIterator[Hosted]:
    found = Hosted(workspace, engine or answering("yes"))
    async with found.client:
        yield found
    found.store.close()
