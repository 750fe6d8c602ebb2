"""The live timeline: every event once and in order, for as long as the caller may read it (W3)."""

import asyncio
import json
import time
from collections.abc import AsyncIterator

import pytest
from asgiref.sync import async_to_sync
from django.db import connections
from django.utils.timezone import now

from controlplane.agents.actions import create_agent, delete_agent
from controlplane.agents.api.timeline import RECHECK, timeline
from controlplane.agents.feed import feed
from controlplane.agents.models import Event
from controlplane.tenants.access import of_token
from controlplane.tenants.actions import issue_token
from controlplane.tenants.models import ApiToken, Membership

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE = 10  # seconds a test waits for what should come at once
QUICK = 0.1


def happen(agent, *titles):
    return [agent.events.create(kind="note", title=title).pk for title in titles]


def titles_of(parts: list[str]) -> list[str]:
    return [json.loads(part.split("data: ")[1])["title"] for part in parts if "data: " in part]


async def parts(stream: AsyncIterator[str], number: int) -> list[str]:
    """The next events of a stream, without its comments; fewer where it ends."""
    found: list[str] = []
    async with asyncio.timeout(PATIENCE):
        while len(found) < number:
            try:
                part = await anext(stream)
            except StopAsyncIteration:
                return found
            if not part.startswith(":"):
                found.append(part)
    return found


def in_thread(act):
    """What somebody else does meanwhile, with a connection of their own."""

    def work():
        try:
            return act()
        finally:
            connections.close_all()

    return asyncio.to_thread(work)


def test_news_come_as_they_happen(as_alice, agent):
    async def listen():
        stream = timeline(as_alice, agent, None)
        assert await anext(stream) == ": listening\n\n"
        await in_thread(lambda: happen(agent, "one", "two"))
        return await parts(stream, 2)

    assert titles_of(async_to_sync(listen)()) == ["one", "two"]


def test_an_event_names_its_kind_and_its_number(as_alice, agent):
    (number,) = happen(agent, "one")

    async def listen():
        return await parts(timeline(as_alice, agent, number - 1), 1)

    (part,) = async_to_sync(listen)()
    assert part.startswith(f"id: {number}\nevent: note\ndata: {{")
    assert json.loads(part.split("data: ")[1])["id"] == number


def test_who_comes_again_misses_nothing_and_gets_nothing_twice(as_alice, agent):
    numbers = happen(agent, *(f"note {at}" for at in range(10)))

    async def listen():
        return await parts(timeline(as_alice, agent, numbers[3]), 6)

    assert titles_of(async_to_sync(listen)()) == [f"note {at}" for at in range(4, 10)]


def test_more_than_a_batch_comes_without_a_gap(as_alice, agent):
    Event.objects.bulk_create(
        Event(agent=agent, kind="note", title=f"note {at}") for at in range(1200)
    )

    async def listen():
        return await parts(timeline(as_alice, agent, 0, QUICK), 1201)

    assert titles_of(async_to_sync(listen)())[1:] == [f"note {at}" for at in range(1200)]


def test_a_smaller_number_that_comes_later_is_not_lost(as_alice, agent):
    def happen_as(number):
        return in_thread(lambda: Event.objects.create(id=number, agent=agent, title=str(number)))

    async def listen():
        stream = timeline(as_alice, agent, None)
        await anext(stream)
        await happen_as(2_000_001)
        first = await parts(stream, 1)
        await happen_as(2_000_000)
        second = await parts(stream, 1)
        await happen_as(2_000_002)
        return first + second + await parts(stream, 1)

    assert titles_of(async_to_sync(listen)()) == ["2000001", "2000000", "2000002"]


def test_a_new_listener_hears_nothing_old(as_alice, agent):
    happen(agent, "old")

    async def listen():
        stream = timeline(as_alice, agent, None)
        await anext(stream)
        await in_thread(lambda: happen(agent, "new"))
        return await parts(stream, 1)

    assert titles_of(async_to_sync(listen)()) == ["new"]


def test_nobody_hears_of_other_agents(as_alice, as_charlie, agent):
    other = create_agent(as_charlie, name="other", runtime="hermes")

    async def listen():
        stream = timeline(as_alice, agent, None)
        await anext(stream)
        await in_thread(lambda: happen(other, "theirs"))
        await in_thread(lambda: happen(agent, "mine"))
        return await parts(stream, 1)

    assert titles_of(async_to_sync(listen)()) == ["mine"]


@pytest.fixture
def by_token(as_alice):
    token, _ = issue_token(as_alice, name="ci")
    return of_token(token, as_alice.organisation.pk)


LOSSES = {
    "token revoked": lambda a, agent: ApiToken.objects.update(revoked_at=now()),
    "left": lambda a, agent: Membership.objects.filter(user=a.user).delete(),
    "locked out": lambda a, agent: type(a.user).objects.update(is_active=False),
    "agent deleted": lambda a, agent: delete_agent(a, agent),
}


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES.keys())
def test_it_ends_when_the_right_ends(by_token, agent, lose):
    async def listen():
        stream = timeline(by_token, agent, None, QUICK)
        await anext(stream)
        await in_thread(lambda: lose(by_token, agent))
        await in_thread(lambda: happen(agent, "secret"))
        return await parts(stream, 2)

    # It was asleep when the right ended and looks again before it says a word.
    assert "secret" not in titles_of(async_to_sync(listen)())


def test_the_right_is_looked_at_at_least_every_five_seconds():
    assert RECHECK <= 5


def test_silence_is_broken_by_comments(as_alice, agent):
    async def listen():
        stream = timeline(as_alice, agent, None, QUICK)
        return [await anext(stream) for _ in range(3)]

    assert async_to_sync(listen)()[1:] == [": still here\n\n"] * 2


def test_many_listeners_hold_few_connections(as_alice, agent):
    async def listen():
        streams = [timeline(as_alice, agent, None) for _ in range(30)]
        await asyncio.gather(*(anext(stream) for stream in streams))
        held = await in_thread(connections_held)
        await in_thread(lambda: happen(agent, "one"))
        heard = await asyncio.gather(*(parts(stream, 1) for stream in streams))
        return heard, held

    heard, held = async_to_sync(listen)()
    assert [titles_of(one) for one in heard] == [["one"]] * 30
    assert held < 10


def connections_held() -> int:
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return cursor.fetchone()[0]


def test_the_api_serves_it_with_last_event_id(alice_api, acme, agent):
    first, _ = happen(agent, "one", "two")
    path = f"/api/v1/orgs/{acme.pk}/agents/{agent.pk}/events/stream"
    response = alice_api.get(path, headers={"Last-Event-ID": str(first)})

    async def listen():
        stream = response.streaming_content

        async def text():
            async for part in stream:
                yield part.decode()

        return await parts(text(), 1)

    assert response["Content-Type"] == "text/event-stream"
    assert response["X-Accel-Buffering"] == "no"
    assert titles_of(async_to_sync(listen)()) == ["two"]


def test_the_feed_tells_of_a_smaller_number_that_came_later(as_alice, agent):
    """Numbers are given before transactions end: 7 may be seen after 8 (another agent's)."""

    async def listen():
        async with feed.listen(agent.pk) as news:
            await in_thread(lambda: Event.objects.create(id=10**6, agent=agent, kind="b"))
            second = await asyncio.wait_for(news.get(), PATIENCE)
            await in_thread(lambda: Event.objects.create(id=10**6 - 1, agent=agent, kind="a"))
            return second, await asyncio.wait_for(news.get(), PATIENCE)

    assert async_to_sync(listen)() == (10**6, 10**6 - 1)


def test_the_feed_rests_while_nobody_listens(as_alice, agent):
    async def listen():
        async with feed.listen(agent.pk):
            poller = feed._poller
        began = time.monotonic()
        await asyncio.wait_for(poller, PATIENCE)
        return time.monotonic() - began

    assert async_to_sync(listen)() < 2
    assert not feed._queues
