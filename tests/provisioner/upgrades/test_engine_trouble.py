"""What the engine does while a new version is judged is no fault of the version."""

import time
from datetime import timedelta
from threading import Timer

import pytest

from controlplane.agents.models import Agent
from controlplane.upgrades.models import UPGRADE
from provisioner.upgrades import health
from tests.provisioner.upgrades.conftest import NEXT

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def restart(engine, container):
    """The engine is silent for a moment, and what ran on it begins another life."""
    timers = []

    def begin() -> None:
        def back() -> None:
            engine.kill(container)
            engine.silent = False

        engine.silent = True
        timers.append(Timer(0.5, back))
        timers[-1].start()

    yield begin
    for timer in timers:
        timer.join()


@pytest.fixture
def answers(backend, monkeypatch):
    """What it answers to each message, and what is done meanwhile."""
    found = []

    def speaks(target):
        answer, meanwhile = found.pop(0)
        meanwhile()
        return answer

    monkeypatch.setattr(backend.prober, "speaks", speaks)
    return found


def nothing() -> None:
    pass


def test_a_restart_after_its_answer_is_no_end_of_the_version(
    asked, carry_out, sweeping, answers, restart
):
    answers += [(True, nothing), (True, restart)]

    done = carry_out(asked())

    assert (done.outcome, done.message) == ("kept", "")


@pytest.mark.parametrize("answer", [False, None], ids=["no-answer", "cannot-be-asked"])
def test_one_that_restarts_while_it_is_asked_is_asked_once_more(
    asked, carry_out, sweeping, answers, restart, answer
):
    answers += [(True, nothing), (answer, restart), (True, nothing)]

    done = carry_out(asked())

    assert (done.outcome, done.spoke_after, answers) == ("kept", True, [])


def test_one_that_never_answers_is_asked_twice(asked, carry_out, sweeping, answers):
    answers += [(True, nothing), (False, nothing), (False, nothing)]

    done = carry_out(asked())

    assert (done.outcome, done.reason, answers) == ("rolled_back", "does_not_answer", [])


def test_an_engine_that_stays_silent_leaves_it_unjudged(
    asked, carry_out, sweeping, image, engine, running, monkeypatch
):
    monkeypatch.setattr(health, "SILENT", timedelta(seconds=0.5))
    image.does = lambda: setattr(engine, "silent", True)

    done = carry_out(asked())

    assert (done.status, done.outcome, done.reason) == ("failed", "unjudged", "engine_silent")
    agent = Agent.objects.select_related("release").get(pk=running.pk)
    assert (agent.release.number, agent.release.image) == (2, NEXT)
    assert "go back to release 1" in done.message
    assert running.conditions.get(type=UPGRADE).reason == "engine_silent"


def test_the_time_of_silence_is_not_taken_from_the_version(asked, sweeping, engine, running):
    """It is said not to run in time only by the time in which it could have."""
    image = running.release.image
    engine.silent = True
    Timer(0.5, lambda: setattr(engine, "silent", False)).start()
    while Agent.objects.get(pk=running.pk).status != "unknown":
        time.sleep(0.02)
    long_ago = health.now() - timedelta(minutes=50)

    assert health.until_running(running.pk, image, long_ago) > long_ago
