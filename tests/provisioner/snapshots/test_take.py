"""A snapshot from claim to done, and what it says when it cannot be."""

import pytest

from controlplane.snapshots.actions import take_snapshot
from controlplane.snapshots.models import Snapshot
from provisioner.workspaces.base import PoolFull, WorkspaceLost

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def asked(as_alice, running, clones, fill) -> Snapshot:
    snapshot = take_snapshot(as_alice, running)
    fill(snapshot.pk)
    return snapshot


def test_it_is_copied_listed_and_told(asked, carry_out, clones, running):
    done = carry_out(asked)

    assert (done.status, done.on_node, done.usable, done.step) == ("done", True, True, "")
    assert (done.files, done.bytes, done.held_ms) == (1, 5, 10)
    assert clones.manifest(running.pk, asked.pk).exists()
    assert running.events.filter(kind="snapshot.taken").exists()


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (PoolFull(1.0), "pool_full"),
        (PoolFull(1.0, 9.0), "pool_full"),
        (WorkspaceLost("agt_x"), "workspace_lost"),
    ],
)
def test_what_kept_it_from_being_taken_is_said(
    asked, carry_out, clones, monkeypatch, trouble, reason, running
):
    def take(agent_id: str, clone_id: str) -> float:
        raise trouble

    monkeypatch.setattr(clones, "take", take)

    done = carry_out(asked)

    assert (done.status, done.reason, done.usable) == ("failed", reason, False)
    assert done.message == str(trouble)
    assert running.events.get(kind="snapshot.failed").detail == str(trouble)


def test_files_of_holes_are_not_hashed_for_ever(
    as_alice, running, clones, carry_out, fill, tmp_path
):
    asked = take_snapshot(as_alice, running)
    fill(asked.pk)
    with (tmp_path / asked.pk / "data" / "holes").open("wb") as file:
        file.truncate(1024**4)

    done = carry_out(asked)

    assert (done.status, done.reason) == ("failed", "workspace_trouble")
    assert "claim to be 1024 GiB" in done.message
    assert (done.on_node, clones.known(running.pk)) == (False, [])


def test_the_next_worker_takes_no_second_copy(asked, carry_out, clones, running):
    """R1: the first died after it had copied."""
    clones.take(running.pk, asked.pk)
    Snapshot.objects.update(on_node=True, taken_at="2026-01-01T00:00Z")

    done = carry_out(asked)

    assert clones.known(running.pk) == [asked.pk]
    assert (done.status, done.taken_at.year) == ("done", 2026)


def test_a_node_without_copies_says_so(asked, carry_out, backend, monkeypatch):
    monkeypatch.setattr(type(backend.workspaces), "clones", None)

    done = carry_out(asked)

    assert (done.status, done.reason) == ("failed", "no_snapshots_here")
    assert "plain directories" in done.message
