"""What a folder holds, and what differs between two."""

import os
import socket

import pytest

from provisioner.snapshots import manifest
from provisioner.snapshots.difference import difference


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "data"
    (root / "deep" / "er").mkdir(parents=True)
    (root / "a.txt").write_text("alpha")
    os.link(root / "a.txt", root / "z.txt")
    (root / "deep" / "empty").touch()
    os.symlink("../../outside", root / "deep" / "link")
    open(os.fsencode(root) + b"/odd\xff\nname", "wb").close()
    os.mkfifo(root / "pipe")
    return root


def test_every_kind_of_entry(tree):
    found = {entry.path: entry for entry in manifest.of(tree).entries}

    assert list(found) == sorted(found, key=os.fsencode)
    assert found["a.txt"].sha256.startswith("8ed3f6ad685b959e")
    assert (found["a.txt"].same_as, found["z.txt"].same_as) == ("", "a.txt")
    assert found["deep/link"].target == "../../outside"
    assert {path: entry.kind for path, entry in found.items()} == {
        "a.txt": "file", "deep": "folder", "deep/empty": "file", "deep/er": "folder",
        "deep/link": "link", "odd\udcff\nname": "file", "pipe": "pipe", "z.txt": "file",
    }  # fmt: skip
    assert (manifest.of(tree).files, manifest.of(tree).size) == (4, 5)


def test_a_socket_is_left_out(tree, monkeypatch):
    monkeypatch.chdir(tree)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("sock")
        assert "sock" not in {entry.path for entry in manifest.of(tree).entries}


def test_written_and_read_it_is_the_same(tree, tmp_path):
    found = manifest.of(tree)
    found.write(tmp_path / "list")

    again = manifest.read(tmp_path / "list")

    assert (again, again.digest) == (found, found.digest)


@pytest.mark.parametrize("harm", [lambda b: b[:-9], lambda b: b"not gzip at all"])
def test_a_cut_or_altered_list_is_refused(tree, tmp_path, harm):
    path = tmp_path / "list"
    manifest.of(tree).write(path)
    path.write_bytes(harm(path.read_bytes()))

    with pytest.raises((ValueError, OSError)):
        manifest.read(path)


def test_differences(tree):
    before = manifest.of(tree)
    assert difference(before, manifest.of(tree)).nothing
    (tree / "deep" / "empty").write_text("full")
    (tree / "new").touch()
    (tree / "pipe").unlink()
    os.chmod(tree / "a.txt", 0o600)

    seen = difference(before, manifest.of(tree))

    assert seen.added == ("new",)
    assert seen.changed == ("deep/empty",)
    assert seen.removed == ("pipe",)
    assert set(seen.touched) == {"a.txt", "z.txt"}
    assert "1 added (new)" in str(seen)


def test_one_flipped_byte_changes_the_digest(tree):
    before = manifest.of(tree)
    stat = (tree / "a.txt").stat()
    (tree / "a.txt").write_text("alphb")
    os.utime(tree / "a.txt", ns=(stat.st_atime_ns, stat.st_mtime_ns))

    assert manifest.of(tree).digest != before.digest
