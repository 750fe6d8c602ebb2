"""Ten thousand small files and two gigabytes of every odd kind, through the store and back."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.agents.actions import create_agent
from controlplane.snapshots.actions import restore_snapshot, take_snapshot
from controlplane.snapshots.models import Snapshot
from provisioner.offsite import place
from provisioner.reconcile import reconcile
from provisioner.snapshots import manifest
from provisioner.snapshots.difference import difference
from tests.engine.conftest import wait_for
from tests.working import meanwhile

SMALL, LARGE, LARGE_SIZE = 10_000, 16, 128 * 1024**2
OWNER = 10001

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def large(backend, go, as_alice):
    agent = create_agent(as_alice, name="large", runtime="hermes", disk_gib=5, egress="none")
    agent = go(agent)
    assert agent.status == "running", agent.message
    return agent


@pytest.fixture
def shipped(settings, store) -> None:
    for name, value in store.items():
        setattr(settings, name, value)
    place.bucket().ensure()


def fill(data: Path) -> None:
    for number in range(SMALL):
        folder = data / "small" / f"{number % 100:02}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.txt").write_text(f"file {number}\n" * (number % 50))
    # Each of its own content, most of which they share: the store keeps that once.
    block = os.urandom(LARGE_SIZE)
    for number in range(LARGE):
        (data / f"large-{number}.bin").write_bytes(os.urandom(4096) + block)
    odd(data / "odd")
    for path in everything(data):
        os.chown(path, OWNER, OWNER, follow_symlinks=False)


def odd(folder: Path) -> None:
    folder.mkdir()
    top = os.fsencode(folder)
    for name in (b"new\nline", b"not utf-8 \xff\xfe", b"-rf", b"*", b" ", b"\\q\"'", b"x" * 255):
        Path(os.fsdecode(top + b"/" + name)).write_bytes(name)
    with (folder / "sparse").open("wb") as file:
        file.truncate(3 * 1024**3)
        file.seek(2 * 1024**3)
        file.write(b"in the middle of nothing")
    os.link(folder / "sparse", folder / "same")
    os.setxattr(folder / "-rf", "user.mood", b"\x00calm\xff")
    (folder / "link").symlink_to("../small")
    (folder / "dangling").symlink_to("/nowhere/at all")
    (folder / "empty").mkdir(mode=0o700)
    (folder / "locked").write_text("nobody reads this")
    (folder / "locked").chmod(0)
    os.utime(folder / "locked", ns=(1, 1_234_567_890_123_456_789))
    os.mkfifo(folder / "pipe")


def everything(data: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(data):
        yield from (os.path.join(folder, name) for name in (*folders, *files))


def test_it_comes_back_byte_for_byte(backend, large, as_alice, carry_out, shipped):
    """B2"""
    clones, data = backend.workspaces.clones, backend.workspaces.points / large.pk / "data"
    fill(data)
    taken = carry_out(take_snapshot(as_alice, large))
    assert taken.status == "done", (taken.reason, taken.message)
    assert taken.bytes > LARGE * LARGE_SIZE
    with clones.opened(large.pk, taken.pk) as root:
        before = manifest.of(root / "data")
    assert sum(entry.path.startswith("small/") for entry in before.entries) > SMALL
    shutil.rmtree(data / "small")
    (data / "large-0.bin").write_bytes(b"altered")
    clones.drop(large.pk, taken.pk)  # the node's copy is lost: only the store has it
    Snapshot.objects.update(on_node=False)

    with meanwhile(lambda: reconcile(large.pk, backend), 0.2):
        done = carry_out(restore_snapshot(as_alice, Snapshot.objects.get(pk=taken.pk)))
        wait_for(lambda: backend.workspaces.held(large.pk), 60)  # it comes up again by itself

    assert done.status == "done", (done.reason, done.message)
    with clones.opened(large.pk, taken.pk) as root:
        seen = difference(before, manifest.of(root / "data"))
        assert os.stat(root / "data" / "odd" / "sparse").st_blocks < 1024
    assert seen.nothing, str(seen)
    assert (data / "small" / "07" / "107.txt").read_text() == "file 107\n" * 7
    assert (data / "large-0.bin").stat().st_size == LARGE_SIZE + 4096
