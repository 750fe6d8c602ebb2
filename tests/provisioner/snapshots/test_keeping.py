"""The node's rounds: what is due is taken once, what is kept no longer goes everywhere."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane.agents.actions import delete_agent
from controlplane.agents.models import Agent
from controlplane.jobs.claim import claim
from controlplane.portability.models import Export
from controlplane.snapshots.actions import delete_snapshot, take_snapshot
from controlplane.snapshots.forking import fork
from controlplane.snapshots.models import Restore, Snapshot, SnapshotPlan
from provisioner.offsite.errors import StoreAway
from provisioner.reconcile import reconcile
from provisioner.snapshots import keeping

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def planned(running) -> SnapshotPlan:
    keeping.plan_all()
    return SnapshotPlan.objects.get()


def make_due() -> None:
    SnapshotPlan.objects.update(next_at=now() - timedelta(days=3))


def test_every_agent_gets_a_plan_once(planned):
    keeping.plan_all()

    assert SnapshotPlan.objects.get().next_at == planned.next_at
    assert now() < planned.next_at < now() + timedelta(days=1)


def test_a_node_that_slept_for_days_takes_one(planned, running):
    make_due()

    assert [keeping.take_due(), keeping.take_due()] == [1, 0]
    snapshot = Snapshot.objects.get()
    assert (snapshot.origin, snapshot.agent) == ("scheduled", running)
    assert SnapshotPlan.objects.get().next_at > now()


@pytest.mark.parametrize("state", [{"on": False}, {"next_at": None}])
def test_one_that_is_off_takes_none(planned, state):
    make_due()
    SnapshotPlan.objects.update(**state)

    assert keeping.take_due() == 0


def test_a_deleted_agent_is_left_alone(planned, running, as_alice):
    make_due()
    delete_agent(as_alice, running)

    assert keeping.take_due() == 0


@pytest.fixture
def taken(as_alice, running, clones, fill, carry_out) -> Snapshot:
    snapshot = take_snapshot(as_alice, running)
    fill(snapshot.pk)
    return carry_out(snapshot)


def test_a_deleted_snapshot_is_gone_from_the_node(as_alice, taken, backend, clones, running):
    delete_snapshot(as_alice, taken)

    assert [keeping.remove_forgotten(backend), keeping.remove_forgotten(backend)] == [1, 0]
    assert clones.known(running.pk) == []
    row = Snapshot.objects.get()
    assert (row.on_node, row.usable, row.removed_at is not None) == (False, False, True)


def test_one_that_a_fork_begins_as_goes_after_it_has(as_alice, taken, backend, clones, go):
    twin = fork(as_alice, taken, name="twin")
    delete_snapshot(as_alice, taken)

    assert keeping.remove_forgotten(backend) == 0
    assert go(twin).status == "running"
    assert keeping.remove_forgotten(backend) == 1


def test_one_deleted_before_it_was_taken_is_never_taken(as_alice, running, backend, clones):
    asked = take_snapshot(as_alice, running)
    delete_snapshot(as_alice, asked)

    assert keeping.remove_forgotten(backend) == 1
    assert claim(Snapshot, running.node, asked.pk) is None
    assert clones.known(running.pk) == []


def test_one_deleted_while_a_worker_is_at_it_goes_after_that(as_alice, running, backend):
    asked = take_snapshot(as_alice, running)
    held = claim(Snapshot, running.node, asked.pk)
    delete_snapshot(as_alice, asked)

    assert keeping.remove_forgotten(backend) == 0
    held.finish()
    assert keeping.remove_forgotten(backend) == 1


class Store:
    def __init__(self) -> None:
        self.forgotten: list[str] = []
        self.away = True

    def forget(self, ids: list[str]) -> None:
        if self.away:
            raise StoreAway
        self.forgotten += ids


def test_with_the_store_away_it_is_removed_later(as_alice, taken, backend, monkeypatch):
    store = Store()
    monkeypatch.setattr(keeping.place, "why_not", lambda: None)
    monkeypatch.setattr(keeping.place, "repository", lambda *where: store)
    Snapshot.objects.update(offsite_id="abc123")
    delete_snapshot(as_alice, Snapshot.objects.get())

    assert keeping.remove_forgotten(backend) == 0
    store.away = False
    assert keeping.remove_forgotten(backend) == 1
    assert store.forgotten == ["abc123"]


def test_an_agent_is_not_gone_for_good_before_its_copies_are(
    as_alice, taken, go, running, backend, monkeypatch, settings
):
    def forget(organisation: str, agent: str) -> int:
        raise StoreAway

    settings.S3_ENDPOINT_URL = "http://store"
    monkeypatch.setattr(keeping.place, "forget_agent", forget)
    Snapshot.objects.update(offsite_id="abc123")
    delete_agent(as_alice, running)
    go(running)
    Agent.objects.update(purge_at=now() - timedelta(days=1), due_at=now())

    assert go(running).due_at > now()

    monkeypatch.setattr(keeping.place, "forget_agent", lambda organisation, agent: 3)
    assert reconcile(running.pk, backend)
    assert not Agent.objects.exists()


def test_what_failed_before_it_was_any_good_goes_in_the_end(as_alice, running):
    failed = take_snapshot(as_alice, running)
    Snapshot.objects.update(status="failed", finished_at=now() - timedelta(days=6))
    assert keeping.expire() == 0
    Snapshot.objects.update(finished_at=now() - timedelta(days=8))

    assert keeping.expire() == 1

    assert not Snapshot.objects.kept().filter(pk=failed.pk).exists()


@pytest.mark.parametrize("kind", [Export, Restore])
def test_one_in_use_is_kept_until_that_is_over(planned, taken, running, kind):
    long_ago = now() - timedelta(days=30)
    Snapshot.objects.update(origin="before_restore", created_at=long_ago)
    user = kind.objects.create(agent=running, snapshot=taken, requested_by="Alice")

    assert keeping.expire() == 0

    kind.objects.filter(pk=user.pk).update(status="done")
    assert keeping.expire() == 1
