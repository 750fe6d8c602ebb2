"""Logs through the gateway: nothing missing, nothing mute, and nothing left behind."""

import asyncio
import json
import time

import pytest

from provisioner.engines.base import LogLine
from provisioner.gateway import follower
from provisioner.gateway.follower import places
from tests.provisioner.gateway.visits import Caller

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def caller(as_alice, running) -> Caller:
    return Caller(as_alice, running)


def read(caller, **query):
    answer = asyncio.run(caller.get("logs", "logs", **query))
    if answer.status_code != 200:
        return answer.status_code, answer.json()["code"]
    return [json.loads(line)["text"] for line in answer.text.split("\n") if line]


def followed(caller, query, count):
    """The first lines a follower hears."""

    async def follow():
        async with caller.visit("logs", "logs", f"follow=1&{query}") as visit:
            return [json.loads(await visit.line())["text"] for _ in range(count)]

    return asyncio.run(follow())


def all_free():
    end = time.monotonic() + 5
    while len(places) and time.monotonic() < end:
        time.sleep(0.02)
    return len(places) == 0


def test_the_newest_lines(caller, engine, container):
    for at in range(20):
        engine.say(container, f"line {at}")

    assert read(caller, tail="2") == ["line 18", "line 19"]


def test_who_is_far_behind_misses_nothing(caller, engine, container):
    for at in range(2500):
        engine.say(container, f"line {at}")
    since = engine.said[container][9].at

    heard = followed(caller, f"tail=5&since={since}", 2490)

    assert heard == [f"line {at}" for at in range(10, 2500)]


def test_who_begins_hears_the_tail_and_what_follows_once(caller, engine, container):
    engine.say(container, "old")
    engine.say(container, "new")

    async def follow():
        async with caller.visit("logs", "logs", "follow=1&tail=1") as visit:
            first = json.loads(await visit.line())
            engine.say(container, "newest")
            return [first["text"], json.loads(await visit.line())["text"]]

    assert asyncio.run(follow()) == ["new", "newest"]


@pytest.mark.parametrize("follow", ["", "1"])
@pytest.mark.parametrize(
    "since",
    ["2026-13-45T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T24:61:00Z", "yesterday", "1",
     "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00.1234567890Z", "2026-01-01T00:00:00.\u0661Z"],
)  # fmt: skip
def test_a_time_that_never_was_is_refused(caller, since, follow):
    assert read(caller, since=since, follow=follow) == (422, "invalid")


@pytest.mark.parametrize("tail", ["x", "0", "-1", "1.5", "\u0661"])
def test_a_tail_that_is_no_number_is_refused(caller, tail):
    assert read(caller, tail=tail) == (422, "invalid")


@pytest.mark.parametrize("since", ["2026-01-01T00:00:56Z", "2026-01-01T00:00:56.0Z"])
def test_times_are_compared_as_times(caller, engine, container, since):
    at = ["55.999999999", "56.000000000", "56.123000000", "57.000000000"]
    engine.said[container] = [LogLine(f"2026-01-01T00:00:{when}Z", when) for when in at]

    assert read(caller, since=since) == at[2:]
    assert followed(caller, f"since={since}", 2) == at[2:]


def test_a_silent_engine_is_told(caller, engine):
    engine.silent = True

    assert read(caller) == (503, "engine_silent")
    assert read(caller, follow="1") == (503, "engine_silent")
    assert len(places) == 0


@pytest.mark.parametrize("how", ["left", "cancelled"])
@pytest.mark.parametrize("before", ["a line", "any line"])
def test_who_leaves_leaves_no_follower_behind(caller, engine, container, how, before):
    engine.say(container, "up")

    async def follow():
        since = "since=2027-01-01T00:00:00Z" if before == "any line" else ""
        async with caller.visit("logs", "logs", f"follow=1&{since}") as visit:
            if before == "a line":
                await visit.line()
            while not len(places):
                await asyncio.sleep(0.01)
            if how == "left":
                visit.leave()
            else:
                visit.task.cancel()
            await asyncio.wait([visit.task], timeout=5)
            return visit.task.done()

    assert asyncio.run(follow())
    assert all_free()


def test_there_are_not_more_followers_than_places(caller, engine, container, monkeypatch):
    monkeypatch.setattr(follower, "MOST_OF_ONE", 1)
    engine.say(container, "up")

    async def follow():
        async with caller.visit("logs", "logs", "follow=1") as visit:
            await visit.line()
            return await caller.get("logs", "logs", follow="1"), await caller.get("logs", "logs")

    another, still = asyncio.run(follow())
    assert (another.status_code, another.json()["code"]) == (429, "too_many_followers")
    assert still.status_code == 200  # reading without following takes no place
    assert all_free()
    assert followed(caller, "", 1) == ["up"]
    assert all_free()
