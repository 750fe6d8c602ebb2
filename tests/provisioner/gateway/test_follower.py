"""Places for followers, and a follower whose engine does what none should."""

import asyncio
import logging
import threading

import pytest

from provisioner.engines.fake import FakeEngine
from provisioner.gateway.door import GatewayProblem
from provisioner.gateway.follower import MOST, MOST_OF_ONE, Follower, Places, places


class Broken(FakeEngine):
    def inspect(self, name: str) -> None:
        raise KeyError("State")


def refused(taken: Places, agent_id: str) -> bool:
    try:
        taken.take(agent_id)
    except GatewayProblem as problem:
        return problem.status == 429
    return False


def test_one_agent_cannot_take_all_places():
    taken = Places()
    for _ in range(MOST_OF_ONE):
        taken.take("agt_1")

    assert refused(taken, "agt_1")
    assert not refused(taken, "agt_2")
    taken.give_back("agt_1")
    assert not refused(taken, "agt_1")


def test_all_agents_together_cannot_take_more_than_there_are():
    taken = Places()
    for at in range(MOST):
        taken.take(f"agt_{at}")

    assert refused(taken, "agt_new")
    taken.give_back("agt_0")
    assert not refused(taken, "agt_new")


def test_places_forget_who_has_left():
    taken = Places()
    taken.take("agt_1")
    taken.give_back("agt_1")

    assert (len(taken), len(taken._taken)) == (0, 0)


def test_an_error_of_ours_ends_the_stream_and_is_logged(caplog):
    """Were it only to end the thread, the reader would wait for ever."""

    async def follow():
        found = Follower("agt_1", Broken(), "roost-agt_1", "")
        async with asyncio.timeout(5):
            return await found.next()

    with caplog.at_level(logging.ERROR):
        assert asyncio.run(follow()) is None
    assert "KeyError" in caplog.text
    assert len(places) == 0


def test_without_a_thread_there_is_no_place_lost(monkeypatch):
    def none_left(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def follow():
        monkeypatch.setattr(threading.Thread, "start", none_left)
        Follower("agt_1", FakeEngine(), "roost-agt_1", "")

    with pytest.raises(RuntimeError):
        asyncio.run(follow())
    assert len(places) == 0
