"""Asking real servers; what an answer means is the runtimes' to test."""

import asyncio
import time
from dataclasses import replace

import pytest

from provisioner import probe
from provisioner.probe import HttpProber, Target, _speaks
from runtimes import health
from runtimes.catalog import CATALOG
from tests.runtimes.fake_hermes import TOKEN, FakeHermes
from tests.runtimes.servers import drip, serving


def ask(seconds: float) -> tuple[bool, float]:
    """What a dripping agent is said to be, and after how long."""

    async def asked() -> tuple[bool, float]:
        async with serving(drip) as port:
            runtime = replace(CATALOG["hermes"], port=port)
            target = Target("agt_1", runtime, "127.0.0.1", "t")
            began = time.monotonic()
            found = await HttpProber()._wait(target, seconds)
            return found, time.monotonic() - began

    return asyncio.run(asked())


@pytest.mark.parametrize("seconds", [0, 0.3])
def test_waiting_ends_a_question_after_its_time_at_the_latest(monkeypatch, seconds):
    monkeypatch.setattr(health, "TIMEOUT_S", 0.4)

    found, took = ask(seconds)

    assert not found
    assert took < seconds + 0.4 + 0.5  # and what a busy machine takes


@pytest.fixture
def hermes(monkeypatch):
    """What answers at every address."""
    found = FakeHermes()
    monkeypatch.setattr(probe, "capped_client", lambda most: found.client())
    return found


def speaks(runtime: str) -> bool | None:
    return HttpProber().speaks(Target("agt_1", CATALOG[runtime], "10.0.0.2", TOKEN))


def test_one_that_answers_a_message_speaks(hermes):
    hermes.answers("ok")

    assert speaks("hermes") is True


@pytest.mark.parametrize("text", ["", "  "])
def test_one_that_says_nothing_does_not(hermes, text):
    hermes.answers(text)

    assert speaks("hermes") is False


def test_one_that_fails_does_not(hermes):
    hermes.fails("API call failed after 3 retries")

    assert speaks("hermes") is False


def test_where_no_conversation_can_be_had_it_is_not_asked(hermes):
    assert speaks("paperclip") is None
    assert hermes.said == []


def test_one_that_takes_too_long_does_not_answer(monkeypatch):
    monkeypatch.setattr(probe, "SPEAKS_S", 0.3)

    async def asked() -> bool | None:
        async with serving(drip) as port:
            found = replace(CATALOG["hermes"], port=port)
            return await _speaks(Target("agt_1", found, "127.0.0.1", "t"))

    assert asyncio.run(asked()) is False
