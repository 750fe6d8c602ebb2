"""Asking real servers; what an answer means is the runtimes' to test."""

import asyncio
import time
from dataclasses import replace

import pytest

from provisioner.probe import HttpProber, Target
from runtimes import health
from runtimes.catalog import CATALOG
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
