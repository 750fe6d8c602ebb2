"""What is packed is what is unpacked, byte for byte and with all that belongs to a file."""

import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from provisioner.portability.archive import Packed, content_digest, packed
from provisioner.portability.streams import Bad
from provisioner.snapshots import manifest
from provisioner.snapshots.difference import difference
from provisioner.workspaces.base import WorkspaceTrouble

ABOUT = {"format": 1, "runtime": "hermes"}
OWNER = 10001


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Every kind of thing that an agent can make."""
    data = tmp_path / "copy" / "data"
    data.mkdir(parents=True, mode=0o700)
    (data / "notes").mkdir(mode=0o750)
    (data / "notes" / "plan.md").write_text("one")
    os.link(data / "notes" / "plan.md", data / "same.md")
    os.setxattr(data / "notes" / "plan.md", "user.mood", b"calm\0\xff\xfe")
    with (data / "sparse").open("wb") as file:
        file.truncate(60 * 1024**2)
        file.seek(40 * 1024**2)
        file.write(b"in the middle")
    (data / "empty").touch(mode=0o600)
    (data / "closed").mkdir(mode=0o500)
    (data / "secret").write_text("mine")
    (data / "secret").chmod(0)
    for name in (b"odd\xff\nname", "Zölle 表".encode(), b"a\\b", b"-rf", b" ", b"n" * 255):
        open(os.path.join(os.fsencode(data), name), "wb").close()
    deep = data
    for _ in range(30):
        deep /= "d" * 20
    deep.mkdir(parents=True)
    (deep / "below").write_text("deep")
    os.symlink("notes/plan.md", data / "link")
    os.symlink("nowhere", data / "dangling")
    os.symlink("/usr/bin/python3", data / "python")
    os.symlink("/workspace/notes", data / "absolute")
    os.mkfifo(data / "pipe")
    for folder, folders, files in os.walk(data):
        for name in [*folders, *files]:
            os.chown(os.path.join(folder, name), OWNER, OWNER, follow_symlinks=False)
    os.utime(data / "notes" / "plan.md", ns=(1_700_000_000_123_456_789,) * 2)
    os.utime(data / "empty", ns=(-1_500_000_000,) * 2)
    os.utime(data / "notes", ns=(1_600_000_000_000_000_001,) * 2)
    return data


def archive_of(data: Path) -> bytes:
    found = manifest.of(data)
    about = ABOUT | {"content_sha256": content_digest(found)}
    with packed(data.parent, found, about) as archive:
        text = all_of(archive)
        assert archive.bytes == len(text)
    return text


def all_of(archive: Packed) -> bytes:
    return b"".join(iter(lambda: archive.read(100_000), b""))


def test_all_of_it_comes_back(workspace: Path, disk: Path, taken: Callable[..., dict]) -> None:
    """B2"""
    text = archive_of(workspace)
    assert len(text) < 1024**2, "holes take no room"

    told = taken(text, disk_bytes=512 * 1024**2)

    seen = difference(manifest.of(workspace), manifest.of(disk))
    assert (seen.added, seen.changed, seen.touched) == ((), (), ()), str(seen)
    assert seen.removed == ("pipe",)
    assert (disk / "sparse").stat().st_blocks * 512 < 1024**2
    assert told["about"]["content_sha256"] == content_digest(manifest.of(disk))


def test_a_plain_tar_of_it_can_be_read_by_anybody(workspace: Path, tmp_path: Path) -> None:
    """No lock-in."""
    text = zstandard.ZstdDecompressor().decompressobj().decompress(archive_of(workspace))
    (tmp_path / "plain.tar").write_bytes(text)

    with tarfile.open(tmp_path / "plain.tar") as tar:
        names = tar.getnames()
        assert names[:2] == ["roost-export.json", "workspace"]
        assert tar.extractfile("workspace/notes/plan.md").read() == b"one"


def test_another_runtimes_lies_beside(
    workspace: Path, disk: Path, taken: Callable[..., dict]
) -> None:
    found = manifest.of(workspace)
    with packed(workspace.parent, found, ABOUT | {"runtime": "openclaw"}) as archive:
        told = taken(all_of(archive), disk_bytes=512 * 1024**2)

    assert (told["base"], os.listdir(disk)) == ("from-openclaw/", ["from-openclaw"])
    seen = difference(found, manifest.of(disk / "from-openclaw"))
    assert (seen.added, seen.changed, seen.touched) == ((), (), ())


def test_half_an_archive_is_never_ended_as_if_it_were_whole(workspace: Path) -> None:
    found = manifest.of(workspace)
    (workspace / "notes" / "plan.md").unlink()

    with (
        packed(workspace.parent, found, ABOUT) as archive,
        pytest.raises(WorkspaceTrouble, match="tar failed"),
    ):
        all_of(archive)


def test_a_disk_that_is_too_small_is_told(workspace: Path, taken: Callable[..., dict]) -> None:
    (workspace / "big").write_bytes(os.urandom(70 * 1024**2))

    with pytest.raises(Bad, match=r"claim far more") as told:
        taken(archive_of(workspace), disk_bytes=1024**2)

    assert told.value.reason == "archive_refused"
