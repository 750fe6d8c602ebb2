"""Deleting an agent, its grace period, and bringing it back, on the fake engine."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane.agents import actions
from controlplane.agents.errors import AgentNameTaken
from controlplane.agents.models import Agent
from controlplane.audit.models import AuditEvent
from controlplane.snapshots.models import Snapshot
from provisioner.models import Address, Block
from provisioner.reconcile import reconcile
from provisioner.snapshots import keeping
from tests.working import carried_out

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("status", ["starting", "stopping", "failed", "crash_looping", "waiting"])
def test_delete_is_legal_in_any_status(running, go, as_alice, engine, container, status):
    Agent.objects.filter(pk=running.pk).update(status=status)

    actions.delete_agent(as_alice, running)

    assert go(running).status == "deleted"
    assert container not in engine.kept
    assert not Address.objects.exists()
    assert not Block.objects.exists()


def test_a_deleted_agents_workspace_outlives_it_by_the_grace(running, go, as_alice, backend):
    actions.delete_agent(as_alice, running)
    go(running)

    assert backend.workspaces.known() == [running.pk]


def test_an_operator_brings_a_deleted_agent_back(running, go, as_alice, backend):
    actions.delete_agent(as_alice, running)
    go(running)

    actions.restore_agent(as_alice, running)
    running = go(running)
    assert (running.status, running.purge_at) == ("stopped", None)
    actions.start_agent(as_alice, running)

    assert go(running).status == "running"
    assert backend.workspaces.known() == [running.pk]


def test_a_deleted_agent_does_not_come_back_under_a_taken_name(running, go, as_alice):
    actions.delete_agent(as_alice, running)
    go(running)
    actions.create_agent(as_alice, name=running.name, runtime="hermes")

    with pytest.raises(AgentNameTaken):
        actions.restore_agent(as_alice, running)
    assert Agent.objects.get(pk=running.pk).goal == "deleted"


def test_a_last_snapshot_is_taken_of_what_it_left(running, go, as_alice, backend, tmp_path):
    backend.workspaces.clones.root = tmp_path
    actions.delete_agent(as_alice, running)
    go(running)

    snapshot = Snapshot.objects.get()
    assert (snapshot.origin, snapshot.status) == ("before_delete", "pending")
    (tmp_path / snapshot.pk / "data").mkdir(parents=True)
    carried_out(snapshot, backend)
    assert snapshot.pk in backend.workspaces.clones.known(running.pk)
    go(running)  # and no second one
    assert Snapshot.objects.count() == 1


def test_each_deletion_has_one_of_its_own(running, go, as_alice):
    for _ in range(2):
        actions.delete_agent(as_alice, running)
        go(running)
        actions.restore_agent(as_alice, running)
        running = go(running)

    assert Snapshot.objects.filter(origin="before_delete").count() == 2


def test_what_never_had_a_workspace_leaves_none(agent, go, as_alice):
    actions.delete_agent(as_alice, agent)
    go(agent)

    assert not Snapshot.objects.exists()


def test_a_deleted_agent_keeps_its_snapshots_for_all_of_its_grace(running, go, as_alice):
    keeping.plan_all()
    actions.delete_agent(as_alice, running)
    go(running)
    Snapshot.objects.update(created_at=now() - timedelta(days=30), manifest_sha256="0" * 64)

    assert keeping.expire() == 0
    actions.restore_agent(as_alice, running)
    assert keeping.expire() == 1


def test_the_purge_waits_for_a_worker_that_still_copies(running, go, as_alice):
    actions.delete_agent(as_alice, running)
    go(running)
    later = now() + timedelta(minutes=1)
    Snapshot.objects.update(status="running", lease_until=later)
    Agent.objects.filter(pk=running.pk).update(purge_at=now())

    assert go(running).due_at > now()

    Snapshot.objects.update(lease_until=now() - timedelta(seconds=1))
    Agent.objects.filter(pk=running.pk).update(due_at=now())
    with pytest.raises(Agent.DoesNotExist):
        go(running)
    assert not Snapshot.objects.exists()


def test_after_the_grace_everything_is_gone_with_a_receipt(running, go, as_alice, backend, vault):
    actions.delete_agent(as_alice, running)
    go(running)
    Agent.objects.filter(pk=running.pk).update(purge_at=now())

    reconcile(running.pk, backend)

    assert backend.workspaces.known() == []
    assert f"agents/{running.pk}" not in vault.values
    assert not Agent.objects.filter(pk=running.pk).exists()
    assert AuditEvent.objects.filter(action="agent.purged", target=running.pk).exists()
