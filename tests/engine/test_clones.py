"""Copies by reference of real disks: under writers, put in place, sprouted, killed halfway."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from controlplane import ids
from provisioner.offsite.sparse import dig_holes
from provisioner.snapshots import manifest
from provisioner.snapshots.difference import difference
from provisioner.workspaces import files, looks, reflink
from provisioner.workspaces.base import CloneMissing, PoolFull, WorkspaceLost, WorkspaceTrouble
from provisioner.workspaces.clones import LoopClones
from provisioner.workspaces.loop import LoopWorkspaces
from provisioner.workspaces.mounts import mounts_below


@pytest.fixture
def workspaces(node) -> LoopWorkspaces:
    return node.workspaces


@pytest.fixture
def clones(workspaces) -> LoopClones:
    return workspaces.clones


@pytest.fixture
def agent(workspaces):
    agent_id = ids.agent_id()
    yield agent_id
    workspaces.destroy(agent_id)


@pytest.fixture
def data(workspaces, agent):
    """Its /workspace, with something of every kind in it."""
    made = workspaces.ensure(agent, 1, made=False)
    (made.data / "notes.txt").write_text("one")
    os.link(made.data / "notes.txt", made.data / "same.txt")
    os.symlink("/etc/passwd", made.data / "away")
    (made.data / "deep" / "er").mkdir(parents=True)
    with (made.data / "deep" / "sparse").open("wb") as file:
        file.truncate(300 * 1024**2)
    open(os.fsencode(made.data) + b"/odd\xff\nname", "wb").close()
    os.setxattr(made.data / "notes.txt", "user.mood", b"calm\0")
    return made.data


def listing(clones, agent, clone_id) -> manifest.Manifest:
    with clones.opened(agent, clone_id) as root:
        return manifest.of(root / "data")


def test_a_copy_is_the_workspace_of_that_moment(clones, agent, data):
    before = manifest.of(data)
    assert clones.take(agent, "snp_a") > 0
    (data / "notes.txt").write_text("two")

    assert clones.take(agent, "snp_a") == 0, "twice equals once"
    assert listing(clones, agent, "snp_a") == before
    assert difference(before, manifest.of(data)).changed == ("notes.txt", "same.txt")
    assert clones.known(agent) == ["snp_a"]
    assert mounts_below(clones.looks.folder) == []


def test_two_look_at_once_and_neither_ends_the_other(clones, agent, data):
    clones.take(agent, "snp_a")

    with clones.opened(agent, "snp_a") as first:
        with clones.opened(agent, "snp_a") as second:
            assert first != second
            assert (second / "data" / "notes.txt").read_text() == "one"
        assert (first / "data" / "notes.txt").read_text() == "one"

    assert list(clones.looks.folder.glob("*snp_a*@*")) == []
    assert mounts_below(clones.looks.folder) == []


def test_many_look_at_once(clones, agent, data):
    clones.take(agent, "snp_a")

    with ThreadPoolExecutor(6) as readers:
        seen = list(readers.map(lambda _: listing(clones, agent, "snp_a").digest, range(12)))

    assert len(seen) == 12
    assert len(set(seen)) == 1
    assert mounts_below(clones.looks.folder) == []


def test_what_one_who_was_killed_looked_at_is_ended_by_the_next(clones, agent, data):
    clones.take(agent, "snp_a")
    left = clones.looks.folder / "snp_a@left"
    clones.looks._mount(clones._clone(agent, "snp_a"), left, looks.READ)

    with clones.opened(agent, "snp_a"):
        assert not left.exists()

    assert mounts_below(clones.looks.folder) == []


def test_a_copy_under_a_writer_is_whole_and_lets_it_go_on(clones, agent, data):
    """Each file is written aside and renamed: a torn moment would show one without its end."""
    done, written = threading.Event(), []

    def write() -> None:
        while not done.is_set():
            part = data / "part"
            with part.open("wb") as file:
                file.write(b"x" * 65536 + b"end")
                file.flush()
                os.fsync(file.fileno())
            part.rename(data / f"whole{len(written):05}")
            written.append(1)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(5):
            clones.take(agent, f"snp_{number}")
        so_far = len(written)
    finally:
        done.set()
        thread.join()

    assert len(written) >= so_far > 0
    for number in range(5):
        with clones.opened(agent, f"snp_{number}") as root:
            for path in (root / "data").glob("whole*"):
                assert path.read_bytes().endswith(b"end")


def test_a_stopped_workspace_is_copied_without_holding_anybody(workspaces, clones, agent, data):
    before = manifest.of(data)
    workspaces.release(agent)

    assert clones.take(agent, "snp_a") == 0
    assert listing(clones, agent, "snp_a") == before
    assert not workspaces.held(agent)


def test_a_copy_of_nothing_is_refused(clones, agent):
    with pytest.raises(WorkspaceLost):
        clones.take(agent, "snp_a")
    with pytest.raises(CloneMissing), clones.opened(agent, "snp_a"):
        pass


def test_a_full_pool_makes_no_copy_and_harms_none(clones, agent, data, monkeypatch):
    monkeypatch.setattr(files, "RESERVE", 2**60)
    with pytest.raises(PoolFull):
        clones.take(agent, "snp_a")

    (data / "more").write_text("goes on")
    assert clones.known(agent) == []


KILLED = """
import os, sys
from pathlib import Path
from provisioner.workspaces import reflink
from provisioner.workspaces.clones import LoopClones
real = reflink.clone
def clone(source, target):
    real(source, target)
    os.kill(os.getpid(), 9)
reflink.clone = clone
clones = LoopClones(Path(sys.argv[1]))
getattr(clones, sys.argv[2])(*sys.argv[3:5], **dict(word.split("=") for word in sys.argv[5:]))
"""


def killed(clones, verb: str, *words: str) -> None:
    """Another process does it, and is killed with kill -9 right after the copy was made."""
    argv = [sys.executable, "-c", KILLED, str(clones.pool.parent), verb, *words]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(argv, env=environment, check=False).returncode == -9


def test_writers_held_by_a_killed_snapshot_go_on(clones, agent, data):
    killed(clones, "take", agent, "snp_a")
    assert clones.known(agent) == []

    assert clones.thaw_forgotten() == [agent]
    (data / "more").write_text("goes on")
    assert reflink.thaw(data.parent) is False
    assert clones.take(agent, "snp_a") > 0
    assert listing(clones, agent, "snp_a") == manifest.of(data)


def test_a_killed_snapshot_keeps_nobody_from_stopping_and_starting(workspaces, clones, agent, data):
    killed(clones, "take", agent, "snp_a")

    workspaces.release(agent)
    again = workspaces.ensure(agent, 1, made=True)

    (again.data / "more").write_text("goes on")
    assert clones.thaw_forgotten() == []


def test_a_copy_takes_the_place_and_what_was_there_is_kept(workspaces, clones, agent, data):
    old = manifest.of(data)
    clones.take(agent, "snp_old")
    (data / "notes.txt").write_text("two")
    new = manifest.of(data)
    with pytest.raises(WorkspaceTrouble, match="still in use"):
        clones.put_in_place(agent, "snp_old", keep_as="snp_kept", mark="wish-1")
    workspaces.release(agent)

    for _ in range(2):
        clones.put_in_place(agent, "snp_old", keep_as="snp_kept", mark="wish-1")

    assert clones.mark(agent) == "wish-1"
    assert manifest.of(workspaces.ensure(agent, 1, made=True).data) == old
    assert listing(clones, agent, "snp_kept") == new
    assert listing(clones, agent, "snp_old") == old


def test_killed_while_it_takes_the_place_it_is_the_old_or_the_new(workspaces, clones, agent, data):
    old = manifest.of(data)
    clones.take(agent, "snp_old")
    (data / "notes.txt").write_text("two")
    new = manifest.of(data)
    workspaces.release(agent)

    killed(clones, "put_in_place", agent, "snp_old", "keep_as=snp_kept", "mark=wish-1")

    assert clones.mark(agent) == ""
    assert manifest.of(workspaces.ensure(agent, 1, made=True).data) == new
    workspaces.release(agent)
    clones.put_in_place(agent, "snp_old", keep_as="snp_kept", mark="wish-1")
    assert manifest.of(workspaces.ensure(agent, 1, made=True).data) == old
    assert listing(clones, agent, "snp_kept") == new


def test_a_fork_is_somebody_else(workspaces, clones, agent, data):
    """S13: an identity of its own, and nothing of what must not be shared."""
    (data / "state").mkdir()
    (data / "state" / "lease").write_text("mine")
    os.symlink("/etc", data / "outside")
    clones.take(agent, "snp_a")
    other = ids.agent_id()
    try:
        for _ in range(2):
            clones.sprout(agent, "snp_a", other, ("state/lease", "outside/passwd", "nothing/there"))
        made = workspaces.ensure(other, 1, made=True)

        assert json.loads((made.identity / "workspace.json").read_text())["workspace"] == other
        seen = difference(manifest.of(data), manifest.of(made.data))
        assert (seen.removed, seen.added, seen.changed) == (("state/lease",), (), ())
        assert os.path.exists("/etc/passwd")
    finally:
        workspaces.destroy(other)


def test_one_brought_from_elsewhere_is_there_whole_or_not_at_all(workspaces, clones, agent, data):
    with pytest.raises(IsADirectoryError), clones.filled(agent, "snp_b", 1) as root:
        (root / "data").write_text("trouble in the middle")
    assert clones.known(agent) == []

    with clones.filled(agent, "snp_b", 1) as root:
        (root / "data" / "file").write_text("whole")
    assert [entry.path for entry in listing(clones, agent, "snp_b").entries] == ["file"]


def test_one_brought_from_elsewhere_may_be_larger_until_its_holes_are_holes(clones, agent, data):
    def bring(size: int, needs: int) -> None:
        with clones.filled(agent, "snp_b", 1, needs=needs) as root:
            with (root / "data" / "holes").open("wb") as file:
                for _ in range(size // 2**24):
                    file.write(bytes(2**24))
            dig_holes(root / "data")

    bring(3 * 2**29, 3 * 2**29)

    with clones.opened(agent, "snp_b") as root:
        seen = os.stat(root / "data" / "holes")
        assert (seen.st_size, seen.st_blocks) == (3 * 2**29, 0)
    assert (clones.pool / "snapshots" / agent / "snp_b.img").stat().st_size == 2**30
    with pytest.raises(PoolFull):
        bring(0, 2**50)


def test_one_that_does_not_fit_after_all_leaves_nothing(clones, agent, data):
    with pytest.raises(WorkspaceTrouble, match="resize2fs"):  # noqa: SIM117
        with clones.filled(agent, "snp_b", 1, needs=2 * 2**30) as root:
            (root / "data" / "file").write_bytes(os.urandom(2**20) * 1200)

    assert [path for path in (clones.pool / "snapshots" / agent).iterdir()] == []


def test_destroyed_with_its_workspace(workspaces, clones, agent, data):
    clones.take(agent, "snp_a")
    workspaces.destroy(agent)

    assert clones.known(agent) == []
    assert list(clones.pool.rglob(f"*{agent}*")) == []
