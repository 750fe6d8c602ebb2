"""A trial restore from claim to outcome, and what it says when it cannot be run."""

import logging

import pytest
from django.db import transaction
from django.utils.timezone import now

from controlplane.agents.models import Condition
from controlplane.keys.vault import VaultUnavailable
from controlplane.snapshots.models import Snapshot
from controlplane.trials.actions import add_trial
from controlplane.trials.models import TrialRestore
from provisioner.offsite.errors import Damaged, SnapshotMissing, StoreAway, WrongPassword
from provisioner.snapshots import scratch
from provisioner.trials import alarm
from provisioner.workspaces.base import Pool

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def asked(acme, shipped):
    """A trial of the one snapshot there is."""
    shipped()

    def ask() -> TrialRestore:
        with transaction.atomic():
            return add_trial(acme, "Alice")

    return ask


def test_what_comes_back_as_it_was_is_told_and_forgotten(asked, carry_out, running, tmp_path):
    done = carry_out(asked())

    assert (done.status, done.outcome, done.step, done.reason) == ("done", "equal", "", "")
    assert (done.files, done.bytes) == (2, 9)
    assert done.took_ms is not None
    assert list(tmp_path.glob("*.scratch")) == []
    assert running.conditions.get(type=alarm.TRIAL).status is True
    assert done.snapshot_id in running.events.get(kind="trial.passed").title


def test_what_differs_is_named_file_by_file_and_alarms(
    asked, carry_out, store, running, caplog, tmp_path
):
    """B1"""
    snapshot = Snapshot.objects.get()
    store.kept[snapshot.offsite_id] |= {"a.txt": "alphA", "c.txt": "new"}
    del store.kept[snapshot.offsite_id]["b.txt"]
    with caplog.at_level(logging.ERROR):
        done = carry_out(asked())

    assert (done.status, done.outcome, done.reason) == ("done", "differs", "not_as_it_was")
    assert done.differences == [
        {"path": "c.txt", "what": "added"},
        {"path": "a.txt", "what": "changed"},
        {"path": "b.txt", "what": "removed"},
    ]
    assert snapshot.pk in done.message
    condition = running.conditions.get(type=alarm.TRIAL)
    assert (condition.status, condition.message) == (False, done.message)
    assert running.events.get(kind="trial.failed").level == "bad"
    assert snapshot.pk in caplog.text
    assert list(tmp_path.glob("*.scratch")) == []
    assert Snapshot.objects.get().usable  # nothing is taken away from anybody


def test_without_the_list_on_the_node_the_digest_decides(asked, carry_out, store, clones, running):
    snapshot = Snapshot.objects.get()
    clones.manifest(running.pk, snapshot.pk).unlink()
    assert carry_out(asked()).outcome == "equal"

    store.kept[snapshot.offsite_id]["a.txt"] = "other"
    done = carry_out(asked())

    assert (done.outcome, done.differences) == ("differs", [])
    assert "which files differ is not known" in done.message


@pytest.mark.parametrize("lost", [SnapshotMissing("1"), Damaged("a pack"), WrongPassword()])
def test_what_cannot_be_brought_back_alarms(asked, carry_out, store, running, lost):
    store.trouble = lost

    done = carry_out(asked())

    assert (done.outcome, done.reason) == ("differs", lost.code)
    assert running.conditions.get(type=alarm.TRIAL).status is False


@pytest.mark.parametrize("away", [StoreAway(), VaultUnavailable()])
def test_what_is_away_is_no_outcome_and_no_alarm(asked, carry_out, store, running, away):
    store.trouble = away

    done = carry_out(asked())

    assert (done.status, done.outcome, done.reason) == ("failed", "not_run", away.code)
    assert not running.conditions.filter(type=alarm.TRIAL).exists()
    assert not running.events.filter(kind__startswith="trial").exists()


def test_with_too_little_room_it_is_not_run(asked, carry_out, backend, store, running):
    backend.workspaces.pool = Pool(total=100, free=18, reserve=10)
    store.trouble = AssertionError("nothing may be brought")

    done = carry_out(asked())

    assert (done.outcome, done.reason) == ("not_run", "pool_full")
    assert not running.conditions.filter(type=alarm.TRIAL).exists()


def test_one_that_was_deleted_meanwhile_is_no_loss(asked, carry_out, store, running):
    trial = asked()
    Snapshot.objects.update(deleted_at=now())
    store.trouble = SnapshotMissing("1")

    done = carry_out(trial)

    assert (done.outcome, done.reason) == ("not_run", "snapshot_gone")
    assert not running.conditions.filter(type=alarm.TRIAL).exists()


def test_the_alarm_holds_until_no_spoiled_snapshot_is_kept(
    asked, carry_out, store, shipped, running
):
    bad = Snapshot.objects.get()
    store.trouble = Damaged("a pack")
    carry_out(asked())
    store.trouble = None
    good = shipped(disk_gib=2)
    Snapshot.objects.filter(pk=bad.pk).update(verified_at=None)  # so that chance takes the other
    assert carry_out(asked()).snapshot_id == good.pk

    condition = running.conditions.get(type=alarm.TRIAL)
    assert condition.status is False
    assert alarm.settle() == 0

    Snapshot.objects.filter(pk=bad.pk).update(deleted_at=now())
    assert alarm.settle() == 1
    assert Condition.objects.get(pk=condition.pk).status is True


def test_a_node_without_copies_says_so(asked, carry_out, backend, monkeypatch):
    monkeypatch.setattr(type(backend.workspaces), "clones", None)

    assert carry_out(asked()).reason == "no_snapshots_here"


def test_what_a_killed_one_left_goes_once_nobody_goes_on_with_it(asked, clones, backend, tmp_path):
    trial = asked()
    for name in (trial.pk, "trl_nobodys", "snp_nobodys", "somebody's own"):
        (tmp_path / f"{name}.scratch" / "data").mkdir(parents=True)

    assert scratch.clear(backend) == ["snp_nobodys", "trl_nobodys"]
    TrialRestore.objects.update(status="failed")
    assert scratch.clear(backend) == [trial.pk]
    assert clones.scratches() == ["somebody's own"]
