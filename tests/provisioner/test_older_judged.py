"""A database that was restored: agents that should run are judged by what is seen, not by what
their rows say of an earlier day."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane.agents import actions
from controlplane.agents.models import Agent, Release
from provisioner import memory, watch
from provisioner.conditions import CURRENT
from provisioner.models import Node
from provisioner.plan import CRASH_BUDGET
from provisioner.reconcile import load
from tests.provisioner.strays.conftest import OSCAR

pytestmark = pytest.mark.django_db(transaction=True)

LONG_AGO = now() - timedelta(days=1)


def doubt(agent) -> str:
    row = agent.conditions.filter(type=CURRENT, status=False).first()
    return row.reason if row else ""


# --- its row says that it was given up on ------------------------------------------------------
@pytest.mark.parametrize("status", ["failed", "crash_looping"])
def test_one_that_was_given_up_on_before_and_runs_goes_on(
    running, go, restored, engine, container, status
):
    before = engine.kept[container]
    Agent.objects.update(status=status, status_since=LONG_AGO)

    agent = go(running)

    assert (engine.kept[container], agent.status, doubt(agent)) == (before, "running", "")


def test_one_that_was_given_up_on_and_is_down_stays_down(
    running, go, restored, engine, container, backend
):
    engine.ensure_stopped(container, 0)
    backend.keys.withdraw(running.pk)
    backend.workspaces.release(running.pk)
    Agent.objects.update(status="failed", status_since=LONG_AGO)

    assert (go(running).status, engine.kept[container].state) == ("failed", "exited")


def test_one_that_is_given_up_on_since_is_stopped(running, go, restored, engine, container):
    Agent.objects.update(status="failed", status_since=now())

    assert (go(running).status, engine.kept[container].state) == ("failed", "exited")


def test_an_old_deadline_stops_nobody(running, go, restored, engine, container, backend):
    """It is up, and just does not answer."""
    backend.prober.deaf.add(running.pk)
    old = {"status": "starting", "status_since": LONG_AGO, "deadline_at": LONG_AGO}
    Agent.objects.update(ready_life="", ready_at=None, **old)

    agent = go(running)

    assert (engine.kept[container].state, agent.status) == ("running", "starting")


def test_ends_of_which_the_copy_knew_nothing_are_not_counted(
    running, go, engine, container, settings, tmp_path
):
    settings.ROOST_STATE_DIR = tmp_path
    memory.compare()
    Node.objects.update(serial=0)
    ended = replace(engine.kept[container], restart_count=CRASH_BUDGET + 2)
    engine.kept[container] = ended
    memory.compare()

    agent = go(running)

    assert (engine.kept[container], agent.status) == (ended, "running")


# --- its container has a release that the database does not know --------------------------------
@pytest.fixture
def unknown(running, go, as_alice, engine, container) -> Agent:
    agent = go(actions.update_agent(as_alice, running, size="large"))
    first = Release.objects.get(agent=agent, number=1)
    Agent.objects.filter(pk=agent.pk).update(release=first, observed_release=1)
    Release.objects.filter(agent=agent, number=2).delete()
    return load(agent.pk)


def test_one_that_is_down_is_started_as_it_is(unknown, go, engine, container):
    engine.ensure_stopped(container, 0)
    made = engine.kept[container].id

    agent = go(unknown)

    there = engine.kept[container]
    assert (there.id, there.release, there.state) == (made, 2, "running")
    assert (agent.status, doubt(agent)) == ("running", "release_unknown")
    assert agent.observed_release == 2


def test_one_whose_keys_are_gone_gets_them_again(unknown, go, engine, container, backend):
    backend.keys.withdraw(unknown.pk)
    before = engine.kept[container]

    agent = go(unknown)

    assert backend.keys.find(agent.pk) is not None
    assert (engine.kept[container], agent.status) == (before, "running")


def test_one_that_answers_no_more_is_not_shown_as_running(unknown, go, backend):
    backend.prober.deaf.add(unknown.pk)

    assert go(unknown).status == "degraded"


def test_what_would_be_ended_of_it_is_left_and_told_as_it_is(
    unknown, go, engine, container, backend
):
    """Without a network it would be made anew, and only of the release that is known."""
    engine.disconnect(container)
    backend.prober.deaf.add(unknown.pk)
    before = engine.kept[container]

    agent = go(unknown)

    assert (engine.kept[container], agent.status) == (before, "degraded")
    assert (doubt(agent), agent.due_at > now()) == ("release_unknown", True)


def test_one_that_should_be_stopped_is_not_called_up(unknown, go, engine, container):
    Agent.objects.update(goal="stopped", status="stopped")

    agent = go(unknown)

    assert (engine.kept[container].state, agent.status) == ("running", "stopped")
    assert doubt(agent) == "release_unknown"


@pytest.fixture
def crew():
    class Nobody:
        def nudge(self, agent_id: str, *, insist: bool = False) -> None:
            pass

    return Nobody()


@pytest.fixture
def stopped(unknown, engine, container, restored) -> Agent:
    """No pass has anything to end of it."""
    engine.ensure_stopped(container, 0)
    Agent.objects.update(goal="stopped", status="stopped")
    return load(unknown.pk)


def test_the_release_that_it_has_is_not_made_anew_with_other_settings(
    stopped, backend, crew, as_alice, go, engine, container
):
    watch.compare(backend, crew)

    actions.update_agent(as_alice, stopped, size="medium")
    agent = go(actions.start_agent(as_alice, stopped))

    assert (agent.release.number, engine.kept[container].release) == (3, 3)
    assert engine.specs[container].memory_mb == agent.release.memory_mb


def test_where_all_is_well_only_passes_say_which_release_was_seen(stopped, backend, crew):
    memory.trust(OSCAR, stopped.node)

    watch.compare(backend, crew)

    assert load(stopped.pk).observed_release == 1
