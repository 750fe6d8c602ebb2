"""Snapshots in a real store: shipped, read back, brought home, and what happens when it is away."""

import os

import pytest

from controlplane.agents.models import Agent
from controlplane.snapshots.actions import restore_snapshot, take_snapshot
from controlplane.snapshots.models import Snapshot
from provisioner.offsite import place
from provisioner.offsite.restic import Repository
from provisioner.snapshots import manifest
from provisioner.snapshots.difference import difference
from provisioner.workspaces.mounts import mounts_below
from tests.engine.conftest import wait_for


@pytest.fixture
def shipped(settings, store):
    """This node has the store."""
    for name, value in store.items():
        setattr(settings, name, value)
    place.bucket().ensure()


@pytest.fixture
def data(backend, running):
    found = backend.workspaces.points / running.pk / "data"
    (found / "notes.txt").write_text("one")
    os.link(found / "notes.txt", found / "same.txt")
    os.setxattr(found / "notes.txt", "user.mood", b"calm")
    with (found / "sparse").open("wb") as file:
        file.truncate(200 * 1024**2)
    open(os.fsencode(found) + b"/odd\xff\nname", "wb").close()
    return found


def test_done_means_read_back_and_compared(backend, running, as_alice, carry_out, data, shipped):
    done = carry_out(take_snapshot(as_alice, running))

    assert (done.status, done.message) == ("done", "")
    assert done.verified_at is not None
    assert done.offsite_id
    assert mounts_below(backend.workspaces.clones.looks.folder) == []
    assert list(backend.workspaces.pool.glob("snapshots/scratch/*")) == []


def test_the_second_sends_little(running, as_alice, carry_out, data, shipped):
    (data / "big").write_bytes(os.urandom(32 * 1024**2))
    first = carry_out(take_snapshot(as_alice, running))
    (data / "notes.txt").write_text("two")
    second = carry_out(take_snapshot(as_alice, running))

    assert second.status == "done"
    assert second.offsite_bytes < 0.1 * first.offsite_bytes


def test_a_lost_copy_is_brought_home_and_restored(
    backend, running, as_alice, carry_out, data, shipped, sweeping
):
    before = manifest.of(data)
    taken = carry_out(take_snapshot(as_alice, running))
    with backend.workspaces.clones.opened(running.pk, taken.pk) as root:
        whole = manifest.of(root / "data")
    (data / "notes.txt").write_text("two")
    backend.workspaces.clones.drop(running.pk, taken.pk)
    Snapshot.objects.update(on_node=False)

    done = carry_out(restore_snapshot(as_alice, Snapshot.objects.get(pk=taken.pk)))

    assert done.status == "done", (done.reason, done.message)
    wait_for(lambda: backend.workspaces.held(running.pk), 60)  # it comes up again by itself
    assert (data / "notes.txt").read_text() == "one"
    assert "notes.txt" in {entry.path for entry in before.entries}
    with backend.workspaces.clones.opened(running.pk, taken.pk) as root:
        assert difference(whole, manifest.of(root / "data")).nothing
        assert os.stat(root / "data" / "sparse").st_blocks == 0


def test_with_the_store_away_the_copy_on_the_node_is_good(
    running, as_alice, carry_out, data, shipped, settings, sweeping
):
    """B3"""
    settings.S3_ENDPOINT_URL = "http://127.0.0.1:9"

    taken = carry_out(take_snapshot(as_alice, running))

    assert (taken.status, taken.usable, taken.verified_at) == ("failed", True, None)
    assert "The copy on the node is whole" in taken.message
    assert Agent.objects.get().status == "running"
    assert carry_out(restore_snapshot(as_alice, taken)).status == "done"


def test_wrong_credentials_are_told(running, as_alice, carry_out, data, shipped, settings):
    settings.S3_SECRET_ACCESS_KEY = "wrong" * 8

    taken = carry_out(take_snapshot(as_alice, running))

    assert (taken.status, taken.reason) == ("failed", "offsite_refused")
    assert "wrongwrong" not in taken.message


def test_a_copy_that_comes_back_otherwise_is_no_success(
    backend, running, as_alice, carry_out, data, shipped, monkeypatch
):
    """B1: what the store gives back is not what was sent."""
    real = Repository.fetch

    def fetch(self, snapshot_id, target):
        real(self, snapshot_id, target)
        (target / "notes.txt").write_text("onf")

    monkeypatch.setattr(Repository, "fetch", fetch)

    taken = carry_out(take_snapshot(as_alice, running))

    assert (taken.status, taken.verified_at) == ("failed", None)
    assert "not what it was" in taken.message
    assert "notes.txt" in taken.message
