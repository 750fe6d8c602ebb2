"""Only so many agents of a node boot at once; the others wait, and each gets its turn."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane.agents import actions
from controlplane.agents.actions import create_agent
from controlplane.agents.models import Agent
from provisioner import names

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def one_at_once(settings) -> None:
    settings.ROOST_PARALLEL_BOOTS = 1


@pytest.fixture
def second(as_alice) -> Agent:
    return create_agent(as_alice, name="second", runtime="hermes")


@pytest.fixture
def booting(agent: Agent, backend, go) -> Agent:
    """The first agent, up and not answering yet."""
    backend.prober.deaf.add(agent.pk)
    agent = go(agent)
    assert agent.status == "starting"
    return agent


def test_the_next_one_waits_and_is_told_why(booting, second, go, engine):
    second = go(second)

    assert (second.status, second.reason) == ("waiting", "boot_queue")
    assert "turn" in second.message
    assert len(engine.kept) == 1


def test_waiting_for_a_turn_is_one_line_of_the_timeline(booting, second, go):
    for _ in range(3):
        second = go(second)

    assert [event.kind for event in second.events.order_by("id")] == ["created", "status.waiting"]


def test_it_boots_once_the_first_answers(booting, second, go, backend):
    go(second)
    backend.prober.deaf.clear()

    go(booting)

    assert go(second).status == "running"


def test_a_place_is_free_when_its_agent_is_stopped(booting, second, go, as_alice):
    actions.stop_agent(as_alice, booting)
    go(booting)

    assert go(second).status == "running"


def test_a_place_is_free_when_the_boot_is_given_up(booting, second, go):
    Agent.objects.filter(pk=booting.pk).update(deadline_at=now() - timedelta(seconds=1))
    assert go(booting).status == "failed"

    assert go(second).status == "running"


def test_one_that_does_not_come_up_keeps_the_others_down_for_a_minute_at_most(booting, second, go):
    old = now() - timedelta(seconds=61)
    Agent.objects.filter(pk=booting.pk).update(booting_since=old)

    assert go(booting).status == "starting"  # it goes on, and its place is free
    assert go(second).status == "running"


def test_starting_again_and_again_buys_no_time(booting, go, engine):
    began = now() - timedelta(seconds=50)
    Agent.objects.filter(pk=booting.pk).update(booting_since=began)
    engine.kill(names.container(booting.pk), restarts=False)

    assert go(booting).booting_since == began


def test_one_that_runs_restarts_without_waiting_for_itself(agent, go, as_alice):
    agent = go(agent)
    actions.restart_agent(as_alice, agent)

    assert go(agent).status == "running"
