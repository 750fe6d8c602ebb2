"""One file or folder is put back, whole or not at all, and never outside the workspace."""

import errno
import os
import stat

import pytest

from controlplane.agents.actions import stop_agent
from controlplane.snapshots.actions import restore_snapshot, take_snapshot
from controlplane.snapshots.models import Restore, Snapshot
from provisioner.snapshots import manifest, placing, put_back
from provisioner.snapshots.put_back import choose
from provisioner.workspaces.base import WorkspaceTrouble

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def live(running, tmp_path, clones):
    found = tmp_path / running.pk / "data"
    found.mkdir(parents=True)
    return found


@pytest.fixture
def taken(as_alice, running, clones, fill, carry_out, tmp_path) -> Snapshot:
    """a.txt; notes/plan.md with rights, an attribute and a time; notes/link; mem.db with a -wal."""
    asked = take_snapshot(as_alice, running)
    fill(asked.pk)
    data = tmp_path / asked.pk / "data"
    notes = data / "notes"
    notes.mkdir(mode=0o750)
    (notes / "plan.md").write_text("old")
    (notes / "plan.md").chmod(0o640)
    os.setxattr(notes / "plan.md", "user.mood", b"calm")
    os.utime(notes / "plan.md", ns=(1_700_000_000_123_456_789,) * 2)
    os.symlink("plan.md", notes / "link")
    (data / "mem.db").write_text("old")
    (data / "mem.db-wal").write_text("old rows")
    with (data / "sparse").open("wb") as file:
        file.truncate(8 * 1024**2)
    open(os.fsencode(data) + b"/odd\xff\n", "w").close()
    return carry_out(asked)


@pytest.fixture
def back(as_alice, taken, carry_out):
    def put(path: str) -> Restore:
        return carry_out(restore_snapshot(as_alice, taken, path=path))

    return put


def test_a_file_is_as_it_was_with_all_that_belongs_to_it(live, back, running):
    (live / "notes").mkdir()
    (live / "notes" / "plan.md").write_text("new")
    (live / "notes" / "other.md").write_text("stays")

    done = back("notes/plan.md")

    assert (done.status, done.message) == ("done", "")
    found = live / "notes" / "plan.md"
    assert found.read_text() == "old"
    assert stat.S_IMODE(found.stat().st_mode) == 0o640
    assert found.stat().st_mtime_ns == 1_700_000_000_123_456_789
    assert os.getxattr(found, "user.mood") == b"calm"
    assert sorted(os.listdir(live / "notes")) == ["other.md", "plan.md"]


def test_what_it_replaces_is_kept_before_anything_is_written(live, back, clones, running):
    done = back("a.txt")

    kept = Snapshot.objects.get(pk=done.keep_as)
    assert (kept.origin, kept.status) == ("before_restore", "pending")
    assert clones.has(running.pk, kept.pk)


@pytest.mark.parametrize("path", [r"odd\xff\x0a", "notes/link", "sparse"])
def test_odd_names_links_and_sparse_files(live, back, path, taken, tmp_path):
    assert back(path).status == "done"

    name = os.fsdecode(b"odd\xff\n") if path.startswith("odd") else path
    was = tmp_path / taken.pk / "data" / name
    assert os.lstat(live / name).st_size == os.lstat(was).st_size
    assert os.lstat(live / name).st_blocks == os.lstat(was).st_blocks
    assert stat.S_IFMT(os.lstat(live / name).st_mode) == stat.S_IFMT(os.lstat(was).st_mode)


def test_a_folder_comes_back_and_what_is_new_in_it_stays(live, back, running):
    (live / "notes").mkdir()
    (live / "notes" / "new.md").write_text("stays")

    assert back("notes/").status == "done"

    told = running.events.get(kind="restore.done")
    assert told.title.startswith("notes was put back to ")
    assert "what came since stays" in told.detail
    assert sorted(os.listdir(live / "notes")) == ["link", "new.md", "plan.md"]
    assert stat.S_IMODE((live / "notes").stat().st_mode) == 0o750


def test_a_folder_swapped_for_a_link_leads_nowhere(live, back, tmp_path):
    """T12"""
    outside = tmp_path / "outside"
    outside.mkdir()
    os.symlink(outside, live / "notes")

    done = back("notes/plan.md")

    assert (done.status, "was not put back" in done.message) == ("failed", True)
    assert os.listdir(outside) == []


def test_a_link_in_its_place_is_replaced_and_not_followed(live, back, tmp_path):
    """T12"""
    secret = tmp_path / "secret"
    secret.write_text("untouched")
    os.symlink(secret, live / "a.txt")

    assert back("a.txt").status == "done"

    assert secret.read_text() == "untouched"
    assert (live / "a.txt").read_text() == "alpha"
    assert not (live / "a.txt").is_symlink()


def test_a_folder_in_its_place_is_refused_and_stays(live, back):
    (live / "a.txt" / "mine").mkdir(parents=True)

    done = back("a.txt")

    assert (done.status, done.reason) == ("failed", "not_put_back")
    assert "Nothing of it was changed" in done.message
    assert os.listdir(live / "a.txt") == ["mine"]
    assert os.listdir(live) == ["a.txt"]


def test_what_is_not_in_it_is_told(live, back):
    assert (back("none.md").reason, os.listdir(live)) == ("not_in_snapshot", [])


def test_an_altered_file_of_the_copy_is_not_used(live, back, taken, tmp_path):
    (tmp_path / taken.pk / "data" / "a.txt").write_text("alphb")
    (live / "a.txt").write_text("live")

    done = back("a.txt")

    assert (done.status, "not what it was" in done.message) == ("failed", True)
    assert (live / "a.txt").read_text() == "live"
    assert os.listdir(live) == ["a.txt"]


def test_an_altered_list_is_not_used(live, back, taken, clones, running):
    path = clones.manifest(running.pk, taken.pk)
    path.write_bytes(path.read_bytes()[:-9])

    assert (back("a.txt").status, os.listdir(live)) == ("failed", [])


def test_without_room_nothing_is_written(live, back, monkeypatch):
    monkeypatch.setattr(placing, "room_for", lambda copy, there, entries: 5 * 1024**2)

    done = back("a.txt")

    assert (done.reason, "5 MiB are missing" in done.message) == ("workspace_full", True)
    assert os.listdir(live) == []


def test_a_database_is_chosen_with_its_family(taken, tmp_path):
    found = manifest.of(tmp_path / taken.pk / "data")

    choice = choose(found, "mem.db-wal")

    assert [entry.path for entry in choice.entries] == ["mem.db-wal", "mem.db"]
    assert choice.gone == ("mem.db-shm", "mem.db-journal")


def test_a_stopped_agents_database_comes_back_with_its_journal(
    live, back, as_alice, running, go, taken
):
    stop_agent(as_alice, running)
    assert go(running).status == "stopped"
    (live / "mem.db").write_text("new")
    (live / "mem.db-shm").write_text("new")

    assert back("mem.db").status == "done"

    found = {path.name: path.read_text() for path in live.iterdir()}
    assert found == {"mem.db": "old", "mem.db-wal": "old rows"}


def test_a_database_of_an_agent_that_started_meanwhile_is_left_alone(
    live, as_alice, running, go, taken, carry_out
):
    stop_agent(as_alice, running)
    go(running)
    asked = restore_snapshot(as_alice, taken, path="mem.db")
    type(running).objects.update(goal="running")
    (live / "mem.db").write_text("new")

    done = carry_out(asked)

    assert (done.status, done.reason) == ("failed", "database_in_use")
    assert (live / "mem.db").read_text() == "new"


def test_of_one_that_stops_half_way_it_is_told_what_was_put_back(live, back, clones, monkeypatch):
    """The disk of the agent is away from the second slice on."""
    monkeypatch.setattr(put_back, "SLICE_FILES", 1)
    real, times = type(clones).live, iter(range(9))

    def once(self, agent_id):
        if next(times):
            raise WorkspaceTrouble("The workspace is still in use.")
        return real(self, agent_id)

    monkeypatch.setattr(type(clones), "live", once)

    done = back("notes")

    assert (done.status, done.reason) == ("failed", "not_put_back")
    assert "still in use. Some files were put back" in done.message
    assert "as it was" not in done.message
    assert len(os.listdir(live / "notes")) == 1


def test_a_folder_that_cannot_be_as_it_was_is_told(live, back, monkeypatch):
    def full(live, entry):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(placing, "dress_folder", full)
    (live / "notes").mkdir()

    done = back("notes")

    assert (done.status, done.reason) == ("failed", "not_put_back")
    assert "notes was not put back: No space left on device. Some files" in done.message


def test_nothing_is_put_into_the_workspace_of_a_deleted_agent(live, as_alice, taken, carry_out):
    asked = restore_snapshot(as_alice, taken, path="a.txt")
    type(taken.agent).objects.update(goal="deleted")

    done = carry_out(asked)

    assert (done.status, "Bring it back, then restore again" in done.message) == ("failed", True)
    assert os.listdir(live) == []
