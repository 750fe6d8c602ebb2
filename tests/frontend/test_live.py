"""Streams: batches of lines, and pages that follow what changes."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Hashable, Mapping

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.test import Client

from controlplane.agents.actions import create_agent
from controlplane.agents.models import Agent
from controlplane.tenants.access import Access
from controlplane.tenants.models import Membership
from frontend import live
from frontend.batches import batches
from frontend.listing import Wish
from frontend.views.agents import ListParts


async def numbers(pauses: list[float], error: Exception | None = None) -> AsyncIterator[int]:
    for at, pause in enumerate(pauses):
        await asyncio.sleep(pause)
        yield at
    if error:
        raise error


def collect(items: AsyncIterator[int], quiet: float = 9) -> list[list[int]]:
    async def run() -> list[list[int]]:
        return [batch async for batch in batches(items, quiet)]

    return asyncio.run(run())


def test_a_burst_is_one_batch() -> None:
    assert collect(numbers([0, 0, 0])) == [[0, 1, 2]]


def test_a_pause_divides() -> None:
    assert collect(numbers([0, 0, 0.3])) == [[0, 1], [2]]


def test_silence_is_an_empty_batch() -> None:
    assert collect(numbers([0, 0.4]), quiet=0.15)[:2] == [[0], []]


def test_an_error_comes_after_what_was_there() -> None:
    found: list[int] = []

    async def run() -> None:
        async for batch in batches(numbers([0, 0], ValueError("gone")), 9):
            found.extend(batch)

    with pytest.raises(ValueError, match="gone"):
        asyncio.run(run())

    assert found == [0, 1]


def test_nothing_is_nothing() -> None:
    assert collect(numbers([])) == []


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "HURRIED", 0.02)
    monkeypatch.setattr(live, "CALM", 0.02)


class Watched(ListParts):
    """Says when it has looked for the first time."""

    def __init__(self, access: Access) -> None:
        super().__init__(access, Wish())
        self.has_looked = threading.Event()

    def look(self) -> Mapping[str, Hashable]:
        seen = super().look()
        self.has_looked.set()
        return seen


def heard(access: Access, shown: str, change: Callable[[], object]) -> str:
    """What a stream says first, beside how to come back; `change` happens after its first look."""
    parts = Watched(access)

    def change_then() -> None:
        assert parts.has_looked.wait(10)
        change()

    async def run() -> str:
        stream = live.follow(parts, shown)
        assert (await anext(stream)).startswith("retry:")
        text = asyncio.create_task(anext(stream))
        await sync_to_async(change_then)()
        said = await text
        await stream.aclose()
        return said

    return async_to_sync(run)()


@pytest.mark.django_db(transaction=True)
def test_a_page_that_is_behind_gets_everything(quick: None, as_alice: Access) -> None:
    create_agent(as_alice, name="heron", runtime="hermes")

    everything = heard(as_alice, "old", lambda: None)

    assert everything.count("event: agent:") == 1
    assert "event: said" in everything


@pytest.mark.django_db(transaction=True)
def test_a_page_gets_what_changed_and_only_that(quick: None, as_alice: Access) -> None:
    for name in ("egret", "heron"):
        create_agent(as_alice, name=name, runtime="hermes")
    shown = live.version(ListParts(as_alice, Wish()).look())

    def fail() -> None:
        Agent.objects.filter(name="heron").update(message="Out of fish.")

    changed = heard(as_alice, shown, fail)

    assert "Out of fish." in changed
    assert "egret" not in changed


@pytest.mark.django_db(transaction=True)
def test_a_page_ends_with_the_right_to_see_it(quick: None, as_bob: Access) -> None:
    shown = live.version(ListParts(as_bob, Wish()).look())

    def remove() -> None:
        Membership.objects.filter(user=as_bob.user).delete()

    with pytest.raises(StopAsyncIteration):
        heard(as_bob, shown, remove)


@pytest.mark.django_db(transaction=True)
def test_without_the_right_a_page_says_nothing_at_all(quick: None, as_bob: Access) -> None:
    Membership.objects.filter(user=as_bob.user).delete()

    with pytest.raises(StopAsyncIteration):
        async_to_sync(first_word)(as_bob)


async def first_word(access: Access) -> str:
    stream = live.follow(ListParts(access, Wish()), "old")
    assert (await anext(stream)).startswith("retry:")
    return await anext(stream)


@pytest.mark.parametrize(
    "address", ["/acme/live/agents", "/acme/live/agents/x", "/acme/agents/heron/logs/follow"]
)
def test_what_never_ends_has_no_head(alice_web: Client, agent: Agent, address: str) -> None:
    assert alice_web.head(address).status_code == 405
