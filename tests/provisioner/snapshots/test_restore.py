"""A workspace is put back: proved first, swapped by a pass, and never half."""

import pytest

from controlplane.agents import actions as agents
from controlplane.agents.models import Agent
from controlplane.snapshots.actions import restore_snapshot, take_snapshot
from controlplane.snapshots.models import Restore, Snapshot
from controlplane.upgrades.models import Upgrade
from provisioner.snapshots import restore as restoring
from provisioner.workspaces.base import PoolFull

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def asked(as_alice, running, clones, fill, carry_out) -> Restore:
    snapshot = take_snapshot(as_alice, running)
    fill(snapshot.pk)
    return restore_snapshot(as_alice, carry_out(snapshot))


@pytest.fixture
def passing(go, running, monkeypatch):
    """While the job waits, the sweep makes passes."""
    monkeypatch.setattr(restoring.time, "sleep", lambda seconds: go(running))


def test_it_is_swapped_and_what_was_there_is_kept(asked, carry_out, clones, passing, running):
    done = carry_out(asked)

    assert (done.status, done.message) == ("done", "")
    assert clones.put == [(running.pk, asked.snapshot_id, asked.keep_as, asked.pk)]
    agent = Agent.objects.get()
    assert (agent.disk_put, agent.disk_wanted, agent.status) == (asked.pk, asked.pk, "running")
    kept = Snapshot.objects.get(pk=asked.keep_as)
    assert (kept.origin, kept.status) == ("before_restore", "pending")
    assert agent.crashes == [], "it was stopped by us"


def test_a_stopped_agent_stays_stopped(as_alice, asked, carry_out, passing, running, go):
    agents.stop_agent(as_alice, running)
    go(running)

    assert carry_out(asked).status == "done"
    agent = Agent.objects.get()
    assert (agent.status, agent.disk_put) == ("stopped", asked.pk)


def test_an_altered_copy_is_not_used(asked, carry_out, clones, running):
    (clones.root / asked.snapshot_id / "data" / "a.txt").write_text("alphb")

    done = carry_out(asked)

    assert (done.status, clones.put) == ("failed", [])
    assert "not what it was" in done.message
    agent = Agent.objects.get()
    assert (agent.status, agent.disk_wanted) == ("running", "")


def test_a_copy_that_is_gone_stops_nobody(asked, carry_out, clones, running):
    clones.drop(running.pk, asked.snapshot_id)

    assert carry_out(asked).status == "failed"
    assert (Agent.objects.get().status, clones.put) == ("running", [])


def test_one_that_is_deleted_meanwhile_is_let_be(as_alice, asked, carry_out, running):
    agents.delete_agent(as_alice, running)

    assert carry_out(asked).status == "failed"
    assert Agent.objects.get().disk_wanted == ""


def test_the_wish_is_taken_back_when_it_takes_too_long(
    asked, carry_out, running, monkeypatch, go, backend
):
    monkeypatch.setattr(restoring, "PATIENCE", 0.0)

    done = carry_out(asked)

    assert done.status == "failed"
    agent = go(running)
    assert (agent.disk_wanted, agent.status, backend.workspaces.clones.put) == ("", "running", [])


def test_a_worker_that_died_after_the_swap_is_followed_by_one_that_ends_it(
    asked, carry_out, clones, running, go
):
    """R1"""
    Agent.objects.update(disk_wanted=asked.pk, generation=running.generation + 1)
    go(running)

    assert carry_out(asked).status == "done"
    assert len(clones.put) == 1
    assert Snapshot.objects.filter(pk=asked.keep_as).exists()


def test_what_was_proven_before_the_wish_is_not_proven_again(
    asked, carry_out, passing, running, monkeypatch
):
    monkeypatch.setattr(restoring, "prove", lambda *of: pytest.fail("hashed a second time"))
    Agent.objects.update(disk_wanted=asked.pk, generation=running.generation + 1)

    assert carry_out(asked).status == "done"


@pytest.fixture
def full(clones, monkeypatch):
    """A pool in which no disk can be put in place, until the list is emptied."""
    found, real = [True], clones.put_in_place

    def put(*ids, **how):
        if found:
            raise PoolFull(0.5)
        real(*ids, **how)

    monkeypatch.setattr(clones, "put_in_place", put)
    return found


def test_a_full_pool_is_told_once_however_often_it_is_tried(asked, full, running, go, as_alice):
    Agent.objects.update(disk_wanted=asked.pk, generation=running.generation + 1)
    agent = go(go(running))
    assert (agent.status, agent.reason) == ("waiting", "workspace_trouble")

    def told_while_it_is_tried_twice() -> int:
        before = agent.events.count()
        go(go(agent))
        return agent.events.count() - before

    assert told_while_it_is_tried_twice() == 0

    agents.stop_agent(as_alice, running)
    assert go(running).status == "stopping"
    assert told_while_it_is_tried_twice() == 0


@pytest.fixture
def owed(asked, running) -> Restore:
    """An upgrade that goes back wants it."""
    columns = {"agent": running, "requested_by": "Alice", "restore": asked}
    Upgrade.objects.create(**columns, from_image="a", to_image="b", status="failed")
    Agent.objects.update(disk_wanted=asked.pk, generation=running.generation + 1)
    return asked


def test_an_upgrade_that_goes_back_is_waited_for_however_long_it_takes(
    owed, carry_out, full, clones, running, go, monkeypatch
):
    """ADR 14: the old version never runs on what the new one wrote."""
    seen = []

    def sleep(seconds):
        seen.append(go(running).status)
        if len(seen) == 3:
            full.clear()

    monkeypatch.setattr(restoring, "PATIENCE", 0.0)
    monkeypatch.setattr(restoring.time, "sleep", sleep)

    assert carry_out(owed).status == "done"
    assert seen[:3] == ["waiting"] * 3
    assert go(running).disk_put == owed.pk


def test_the_wish_of_an_upgrade_that_goes_back_is_never_taken_back(
    as_alice, owed, carry_out, running
):
    agents.delete_agent(as_alice, running)

    assert carry_out(owed).status == "failed"
    assert Agent.objects.get().disk_wanted == owed.pk


def test_a_restore_that_takes_too_long_leaves_what_an_upgrade_wants(
    as_alice, owed, carry_out, full, running, go, monkeypatch
):
    Restore.objects.filter(pk=owed.pk).update(status="failed")
    theirs = restore_snapshot(as_alice, owed.snapshot)
    monkeypatch.setattr(restoring, "PATIENCE", 0.0)

    assert carry_out(theirs).status == "failed"
    assert Agent.objects.get().disk_wanted == owed.pk
    full.clear()
    assert go(running).disk_put == owed.pk

    later = restore_snapshot(as_alice, owed.snapshot)
    assert carry_out(later).status == "failed"
    assert Agent.objects.get().disk_wanted == owed.pk == Agent.objects.get().disk_put
