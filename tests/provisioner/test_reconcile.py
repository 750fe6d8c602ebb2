"""One agent's life on the fake engine: births, deaths, wishes, and parts that are away."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane.agents import actions
from controlplane.agents.lease import Lease
from controlplane.agents.models import Agent
from controlplane.keys.actions import add_key
from provisioner.plan import CRASH_BUDGET
from provisioner.reconcile import reconcile

pytestmark = pytest.mark.django_db(transaction=True)


def kinds(agent: Agent) -> list[str]:
    return [event.kind for event in agent.events.order_by("id")]


def test_a_new_agent_comes_to_run(agent, go, engine, container):
    agent = go(agent)

    assert agent.status == "running"
    assert agent.settled
    assert engine.kept[container].up
    assert kinds(agent) == [
        "created",
        "status.starting",
        "step.workspace",
        "step.container",
        "status.running",
    ]


def test_a_settled_agent_is_left_alone(running, go, engine):
    before = len(engine.calls)

    go(running)

    assert engine.calls[before:] == ["inspect"]


def test_stop_keeps_the_workspace_and_takes_the_keys_away(running, go, as_alice, backend):
    actions.stop_agent(as_alice, running)

    assert go(running).status == "stopped"
    assert backend.workspaces.known() == [running.pk]
    assert not backend.keys.held(running.pk)


def test_a_stopped_agent_starts_again_in_the_same_container(
    running, go, as_alice, engine, container
):
    before = engine.kept[container].id
    actions.stop_agent(as_alice, running)
    go(running)

    actions.start_agent(as_alice, running)

    assert go(running).status == "running"
    assert engine.kept[container].id == before


def test_a_restart_is_a_new_container(running, go, as_alice, engine, container):
    before = engine.kept[container].id

    actions.restart_agent(as_alice, running)

    assert go(running).status == "running"
    assert engine.kept[container].id != before


def test_a_new_size_is_a_new_release_and_a_new_container(running, go, as_alice, engine, container):
    actions.update_agent(as_alice, running, size="medium")

    running = go(running)

    assert (running.status, running.observed_release) == ("running", 2)
    assert engine.specs[container].memory_mb == 2048


def test_a_stopped_agent_stays_stopped_when_its_settings_change(
    running, go, as_alice, engine, container
):
    actions.stop_agent(as_alice, running)
    go(running)

    actions.update_agent(as_alice, running, size="medium")

    assert go(running).status == "stopped"
    assert engine.kept[container].state == "exited"


def test_a_container_removed_behind_our_back_is_made_again(running, go, engine, container):
    engine.lose(container)

    assert go(running).status == "running"
    assert engine.kept[container].up


def test_a_killed_container_that_the_engine_leaves_down_is_started(running, go, engine, container):
    engine.kill(container, restarts=False)

    running = go(running)

    assert running.status == "running"
    assert "ended" in kinds(running)


def test_a_crash_that_the_engine_healed_is_told(running, go, engine, container):
    engine.kill(container)

    running = go(running)

    assert running.status == "running"
    told = running.events.get(kind="ended")
    assert "killed (signal 9)" in told.title


def never_comes_up(agent, go, engine, backend, container):
    backend.prober.deaf.add(agent.pk)
    agent = go(agent)
    for _ in range(CRASH_BUDGET):
        engine.kill(container, exit_code=3)
        agent = go(agent)
    backend.prober.deaf.clear()
    return agent


def test_an_agent_that_is_killed_often_but_comes_up_well_is_not_given_up(
    running, go, engine, container
):
    for _ in range(2 * CRASH_BUDGET):
        engine.kill(container)
        running = go(running)

    assert running.status == "running"


def test_running_out_of_memory_counts_in_full(running, go, engine, container):
    for _ in range(CRASH_BUDGET):
        engine.kill(container, out_of_memory=True)
        running = go(running)

    assert (running.status, running.reason) == ("crash_looping", "out_of_memory")
    assert "larger size" in running.message


def test_ending_again_and_again_is_given_up_with_the_cause(agent, go, engine, container, backend):
    running = never_comes_up(agent, go, engine, backend, container)

    assert running.status == "crash_looping"
    assert "exit code 3" in running.message
    assert "start it" in running.message
    assert not engine.kept[container].up
    assert not backend.keys.held(running.pk)


def test_start_gives_a_crash_looping_agent_a_new_budget(
    agent, go, engine, backend, container, as_alice
):
    running = never_comes_up(agent, go, engine, backend, container)

    actions.start_agent(as_alice, running)

    running = go(running)
    assert (running.status, running.crashes) == ("running", [])


def test_an_agent_that_never_answers_fails_at_its_deadline(agent, go, backend, engine, container):
    backend.prober.deaf.add(agent.pk)
    agent = go(agent)
    assert agent.status == "starting"
    Agent.objects.filter(pk=agent.pk).update(deadline_at=now() - timedelta(seconds=1))

    agent = go(agent)

    assert (agent.status, agent.reason) == ("failed", "start_timed_out")
    assert "did not answer within" in agent.message
    assert not engine.kept[container].up


def test_an_agent_gone_deaf_is_degraded_and_recovers(running, go, backend):
    backend.prober.deaf.add(running.pk)
    assert go(running).status == "degraded"

    backend.prober.deaf.clear()

    assert go(running).status == "running"


def test_the_key_reaches_the_node_and_nothing_else(as_alice, go, backend, engine):
    key = add_key(as_alice, name="main", provider="openai", value="sk-0123456789abcdef")
    agent = go(actions.create_agent(as_alice, name="keyed", runtime="hermes", key=key.pk))

    assert backend.keys.delivered[agent.pk].provider_key == "sk-0123456789abcdef"
    assert "0123456789abcdef" not in repr(engine.specs)


def test_two_workers_never_hold_one_agent(agent, backend, engine):
    assert Lease.claim(agent.pk)

    assert not reconcile(agent.pk, backend)
    assert engine.calls == []


def test_a_dead_workers_lease_is_taken_over_when_it_ends(agent, backend):
    stale = Lease.claim(agent.pk, ttl=timedelta(seconds=-1))

    assert reconcile(agent.pk, backend)
    assert Agent.objects.get(pk=agent.pk).status == "running"
    assert stale is not None
    with pytest.raises(Exception, match=agent.pk):
        stale.write(status="failed")
    assert Agent.objects.get(pk=agent.pk).status == "running"
