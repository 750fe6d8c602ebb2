"""A database that was restored: nothing that is newer than its rows is ended or removed."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane.agents import actions
from controlplane.agents.models import Agent, Release
from controlplane.audit.models import AuditEvent
from controlplane.snapshots.actions import delete_snapshot
from controlplane.snapshots.models import Snapshot
from provisioner import memory, names, networks
from provisioner.conditions import CURRENT
from provisioner.engines.base import NetworkSpec
from provisioner.models import Address, Block
from provisioner.reconcile import load, reconcile
from provisioner.snapshots import keeping
from tests.provisioner.strays.conftest import OSCAR

pytestmark = pytest.mark.django_db(transaction=True)


def doubt(agent) -> str:
    row = agent.conditions.filter(type=CURRENT, status=False).first()
    return row.reason if row else ""


# --- an agent whose row is older ---------------------------------------------------------------
def older_release(agent) -> None:
    """Its release 2 is not in the database any more."""
    first = Release.objects.get(agent=agent, number=1)
    Agent.objects.filter(pk=agent.pk).update(release=first, observed_release=1)
    Release.objects.filter(agent=agent, number=2).delete()


@pytest.fixture
def second(running, go, as_alice) -> Agent:
    actions.update_agent(as_alice, running, size="large")
    agent = go(running)
    assert agent.observed_release == 2
    return agent


def test_a_container_of_a_release_that_nobody_knows_runs_on(second, go, engine, container):
    before = engine.kept[container]
    older_release(second)

    agent = go(second)

    assert engine.kept[container] == before
    assert (doubt(agent), agent.status) == ("release_unknown", "running")
    assert agent.events.filter(kind="older").count() == 1
    go(agent)
    assert agent.events.filter(kind="older").count() == 1


def test_the_next_release_is_above_the_one_that_was_seen(second, go, as_alice, engine, container):
    older_release(second)
    agent = go(second)

    agent = go(actions.update_agent(as_alice, agent, size="medium"))

    assert agent.release.number == 3
    assert engine.kept[container].release == 3
    assert doubt(agent) == ""


def test_a_restart_goes_back_to_the_release_that_is_known(second, go, as_alice, engine, container):
    older_release(second)
    agent = go(second)

    agent = go(actions.restart_agent(as_alice, agent))

    assert (engine.kept[container].release, agent.status, doubt(agent)) == (1, "running", "")


def test_restarts_that_the_row_does_not_know_are_counted_not_done(
    running, go, as_alice, engine, container
):
    agent = go(actions.restart_agent(as_alice, running))
    before = engine.kept[container]
    Agent.objects.update(restart_serial=0)

    agent = go(agent)

    assert (agent.restart_serial, agent.status) == (1, "running")
    assert engine.kept[container] == before
    assert AuditEvent.objects.filter(action="agent.caught_up").exists()
    agent = go(actions.restart_agent(as_alice, agent))
    assert engine.kept[container].restart == 2


@pytest.fixture
def undeleted(running, go, as_alice, backend, engine) -> Agent:
    """It was deleted, brought back, started and worked for a day; the row knows of the first."""
    actions.delete_agent(as_alice, running)
    row = go(running)
    actions.restore_agent(as_alice, row)
    actions.start_agent(as_alice, go(row))
    assert go(running).status == "running"
    forgotten = {"goal": "deleted", "status": "deleted", "deleted_at": row.deleted_at}
    forgotten |= {"purge_at": row.purge_at, "status_since": now() - timedelta(days=1)}
    Agent.objects.update(**forgotten)
    Address.objects.all().delete()
    Block.objects.all().delete()
    backend.workspaces.used_last[running.pk] = now()
    return load(running.pk)


def test_one_whose_row_says_deleted_runs_on_with_its_disk(
    undeleted, go, engine, container, backend
):
    agent = go(undeleted)

    assert engine.kept[container].state == "running"
    assert backend.workspaces.known() == [agent.pk]
    assert doubt(agent) == "row_says_deleted"
    assert networks.find(agent).address == engine.kept[container].address


def test_when_its_grace_is_over_it_is_put_off_not_purged(
    undeleted, go, engine, container, backend, as_alice, vault
):
    Agent.objects.update(purge_at=now() - timedelta(days=1))

    agent = go(undeleted)

    assert engine.kept[container].state == "running"
    assert f"agents/{agent.pk}" in vault.values
    assert agent.purge_at > now() + timedelta(days=6)
    actions.restore_agent(as_alice, agent)
    agent = go(agent)
    assert (agent.status, doubt(agent)) == ("stopped", "")
    assert backend.workspaces.known() == [agent.pk]


def test_without_its_container_its_disk_says_that_it_was_used(
    undeleted, go, engine, container, backend
):
    engine.lose(container)
    backend.keys.withdraw(undeleted.pk)
    Agent.objects.update(purge_at=now() - timedelta(days=1))

    agent = go(undeleted)

    assert (backend.workspaces.known(), doubt(agent)) == ([agent.pk], "row_says_deleted")


def test_brought_back_and_deleted_again_it_goes(undeleted, go, as_alice, backend, engine):
    agent = go(undeleted)
    go(actions.restore_agent(as_alice, agent))
    actions.delete_agent(as_alice, agent)
    agent = go(agent)
    assert (agent.status, engine.kept) == ("deleted", {})
    backend.workspaces.used_last[agent.pk] = agent.status_since
    Agent.objects.update(purge_at=now())

    reconcile(agent.pk, backend)

    assert backend.workspaces.known() == []


def test_a_container_that_a_late_worker_made_after_the_deletion_is_removed(
    running, go, as_alice, engine, container, backend
):
    spec = engine.specs[container]
    actions.delete_agent(as_alice, running)
    agent = go(running)
    engine.ensure_network(NetworkSpec(spec.network, "br", "10.0.0.0/28", "10.0.0.1", {}))
    engine.ensure_created(spec)
    backend.workspaces.used_last[agent.pk] = now()

    assert (go(agent).status, engine.kept) == ("deleted", {})


# --- while the node knows that the database went back ------------------------------------------
@pytest.mark.parametrize("goal", ["stopped", "suspended", "deleted"])
def test_nothing_is_ended_that_people_did_not_ask_for_since(
    running, go, restored, engine, container, goal
):
    """S9: the row says so, and it is as old as the copy."""
    Agent.objects.update(goal=goal, status="running", observed_generation=running.generation)

    agent = go(running)

    assert engine.kept[container].state == "running"
    assert doubt(agent) == "database_restored"


def test_what_people_ask_for_since_is_done(running, go, restored, as_alice, engine):
    Agent.objects.update(goal="stopped")
    agent = go(running)
    actions.start_agent(as_alice, agent)

    agent = go(actions.stop_agent(as_alice, agent))

    assert (agent.status, doubt(agent)) == ("stopped", "")
    actions.start_agent(as_alice, agent)
    assert go(agent).status == "running"


def test_no_deleted_agent_is_purged(running, go, as_alice, backend, settings, tmp_path, vault):
    actions.delete_agent(as_alice, running)
    go(running)
    settings.ROOST_STATE_DIR = tmp_path
    memory.path().write_text("99")
    memory.compare()
    Agent.objects.update(purge_at=now() - timedelta(days=1), due_at=now())

    agent = go(running)

    assert backend.workspaces.known() == [agent.pk]
    assert f"agents/{agent.pk}" in vault.values
    assert agent.purge_at > now()
    memory.trust(OSCAR, agent.node)
    Agent.objects.update(purge_at=now())
    reconcile(agent.pk, backend)
    assert backend.workspaces.known() == []


def test_no_snapshot_is_removed(running, restored, backend, as_alice):
    gone = Snapshot.objects.create(
        agent=running, requested_by="a", release=1, disk_gib=1, status="done", deleted_at=now()
    )
    backend.workspaces.clones.take(running.pk, gone.pk)

    assert (keeping.expire(), keeping.remove_forgotten(backend)) == (0, 0)
    assert backend.workspaces.clones.has(running.pk, gone.pk)
    memory.trust(OSCAR, running.node)
    assert keeping.remove_forgotten(backend) == 1


def test_what_people_deleted_since_is_kept_too(running, restored, backend, as_alice):
    gone = Snapshot.objects.create(
        agent=running, requested_by="a", release=1, disk_gib=1, status="done", taken_at=now()
    )
    backend.workspaces.clones.take(running.pk, gone.pk)
    delete_snapshot(as_alice, gone)

    assert keeping.remove_forgotten(backend) == 0


def test_what_is_wrong_with_one_that_should_run_is_healed(running, go, restored, engine, container):
    engine.disconnect(container)

    agent = go(running)

    assert (agent.status, engine.kept[container].connected) == ("running", True)


def test_what_was_asked_for_is_finished_by_the_next_worker(
    running, go, restored, as_alice, engine, container, monkeypatch
):
    """Killed between writing the decision and carrying it out."""
    actions.stop_agent(as_alice, running)

    def die(*args, **more):
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr("provisioner.act.carry_out", die)
        with pytest.raises(SystemExit):
            go(running)
    agent = load(running.pk)
    assert agent.observed_generation == agent.generation
    assert engine.kept[container].state == "running"

    assert go(agent).status == "stopped"
    assert engine.kept[container].state == "exited"


def test_agents_that_should_run_come_up_all_the_same(agent, go, restored):
    assert go(agent).status == "running"


def test_what_is_as_it_should_be_is_asked_nothing_more(running, go, restored, container, engine):
    before = engine.kept[container]

    assert go(running).status == "running"
    assert engine.kept[container] == before
    assert names.container(running.pk) == container
