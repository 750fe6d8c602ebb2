"""Jobs that a restored database brings back: nothing is put back or judged a second time."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane.agents import actions as agents
from controlplane.agents.models import Agent
from controlplane.drills.models import Drill
from controlplane.jobs.claim import ClaimLost, claim
from controlplane.scans.models import Scan
from controlplane.snapshots.actions import restore_snapshot
from controlplane.snapshots.models import Restore, Snapshot
from controlplane.upgrades.models import Upgrade
from provisioner import memory, tasks
from provisioner.jobs import launch
from provisioner.models import Node
from tests.provisioner.strays.conftest import OSCAR

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def started(monkeypatch):
    """Who was started, in the place of processes."""
    found = []
    monkeypatch.setattr(launch, "start", found.append)
    return found


@pytest.fixture
def snapshot(running, backend) -> Snapshot:
    backend.workspaces.clones.take(running.pk, "snp_first")
    return Snapshot.objects.create(
        id="snp_first", agent=running, requested_by="a", release=1, disk_gib=1, status="done",
        on_node=True, manifest_sha256="1", taken_at=now(),
    )  # fmt: skip


@pytest.fixture
def brought_back(running, snapshot):
    """One of each kind, as the copy knew it."""

    def bring(kind, **more):
        hours = now() - timedelta(hours=5)
        usual = {"agent": running, "requested_by": "a", "created_at": hours}
        own = {
            Restore: {"snapshot": snapshot},
            Drill: {"kind": "process"},
            Upgrade: {"from_image": "a", "from_version": "1", "to_image": "b", "to_version": "2"},
        }
        return kind.objects.create(**usual, **own.get(kind, {}), **more)

    return bring


RAN = {
    "status": "running", "attempts": 1, "fence": 1,
    "lease_until": now() - timedelta(hours=4), "deadline_at": now() + timedelta(hours=1),
}  # fmt: skip


@pytest.mark.parametrize("kind", [Restore, Upgrade, Drill])
@pytest.mark.parametrize("state", [{"status": "pending"}, RAN], ids=["pending", "running"])
def test_none_that_acts_on_an_agent_is_taken_up(restored, brought_back, started, kind, state):
    job = brought_back(kind, **state)

    launch.sweep()

    job.refresh_from_db()
    assert (job.status, job.reason, started) == ("failed", "database_restored", [])
    assert job.finished_at is not None
    assert "ask again" in job.message


def test_a_message_takes_none_up_either(restored, brought_back, started):
    """Of one file: it would be overwritten by yesterday's, and what it held today is nowhere."""
    job = brought_back(Restore, path="notes.txt")

    tasks.begin_job("snapshots.restore", job.pk)

    job.refresh_from_db()
    assert (job.reason, started) == ("database_restored", [])


def test_a_worker_finds_it_before_the_node_has_noticed(
    running, brought_back, started, settings, tmp_path
):
    settings.ROOST_STATE_DIR = tmp_path
    memory.compare()
    Node.objects.update(serial=0)
    job = brought_back(Restore)

    tasks.begin_job("snapshots.restore", job.pk)

    job.refresh_from_db()
    assert (job.reason, started) == ("database_restored", [])


def test_a_process_that_is_at_one_writes_nothing_more(restored, brought_back, settings):
    job = brought_back(Restore)
    found = claim(Restore, settings.ROOST_NODE, job.pk)

    launch.sweep()

    with pytest.raises(ClaimLost):
        found.write(step="writing")


def test_what_people_ask_for_since_is_taken_up(restored, snapshot, as_alice, started):
    job = restore_snapshot(as_alice, snapshot)

    launch.sweep()

    assert [one.job_id for one in started] == [job.pk]


def test_what_only_looks_or_copies_is_taken_up(restored, brought_back, started):
    job = brought_back(Scan)

    launch.sweep()

    assert [one.job_id for one in started] == [job.pk]


def test_where_all_is_well_old_ones_are_taken_up(restored, running, brought_back, started):
    memory.trust(OSCAR, running.node)
    job = brought_back(Restore)

    launch.sweep()

    assert [one.job_id for one in started] == [job.pk]


# --- its wish, which the copy brought back too ----------------------------------------------------
@pytest.fixture
def replacing(running, restored, brought_back) -> Restore:
    """No pass had seen the wish when the copy was taken; it was fulfilled soon after."""
    job = brought_back(Restore, **RAN, step="replacing")
    Agent.objects.update(disk_wanted=job.pk, generation=running.generation + 1)
    return job


@pytest.mark.parametrize("first", ["pass", "job"])
def test_todays_disk_is_not_replaced(
    replacing, running, go, backend, engine, container, started, first
):
    before = engine.kept[container]
    if first == "pass":
        assert go(running).conditions.get(type="RowIsCurrent").reason == "database_restored"
    launch.sweep()

    agent = go(running)

    assert (engine.kept[container], backend.workspaces.clones.put) == (before, [])
    assert (agent.status, agent.disk_wanted) == ("running", "")
    assert not agent.conditions.filter(type="RowIsCurrent", status=False).exists()


def test_a_stop_that_people_ask_for_is_no_wish_for_the_old_disk(
    replacing, running, go, as_alice, backend, engine, container
):
    """The pass that stops it would go on to the disk, had the sweep of jobs not come yet."""
    agents.stop_agent(as_alice, running)

    agent = go(running)

    assert engine.kept[container].state == "exited"
    assert (agent.disk_put, backend.workspaces.clones.put) == ("", [])


def test_a_disk_that_people_ask_for_since_is_put_in_place(
    replacing, running, snapshot, go, as_alice, backend, started
):
    go(running)
    launch.sweep()
    job = restore_snapshot(as_alice, snapshot)
    Agent.objects.update(disk_wanted=job.pk, generation=running.generation + 2)

    agent = go(running)

    assert backend.workspaces.clones.put == [(running.pk, snapshot.pk, job.keep_as, job.pk)]
    assert (agent.status, agent.disk_put) == ("running", job.pk)
