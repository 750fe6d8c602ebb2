"""What is packed is looked into, within bounds that no bomb gets past."""

import bz2
import gzip
import io
import lzma
import subprocess
import zipfile
import zlib

import pytest

from provisioner.scan import packed
from provisioner.scan.packed import Budget
from provisioner.scan.walking import walk
from tests.provisioner.scan.conftest import VALUE

TEXT = b"a line\n" * 5000 + b"key=" + VALUE + b"\n" + b"another line\n" * 5000


def zipped(method=zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("config/.env", TEXT)
    return file.getvalue()


PACKED = {
    "gzip": gzip.compress(TEXT),
    "two gzips": gzip.compress(b"first") + gzip.compress(TEXT),
    "bzip2": bz2.compress(TEXT),
    "xz": lzma.compress(TEXT),
    "git object": zlib.compress(b"blob 7\0" + TEXT),
    "zip": zipped(),
    "zip with bzip2": zipped(zipfile.ZIP_BZIP2),
    "all zeros before it": gzip.compress(bytes(3_000_000) + VALUE),
}


@pytest.mark.parametrize("name", PACKED)
def test_what_is_packed_is_found(place, budget, tmp_path, name):
    (tmp_path / "it").write_bytes(PACKED[name])

    walk(place, tmp_path, budget, prefix="/workspace")

    assert {finding.path for finding in place.findings} == {"/workspace/it"}
    assert all(finding.inside for finding in place.findings)
    assert not place.limits


def test_a_git_repository_is_looked_into_before_and_after_it_is_packed(place, budget, tmp_path):
    def git(*words: str) -> None:
        author = ["-c", "user.name=a", "-c", "user.email=a@example.test"]
        subprocess.run(["git", *author, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "--quiet")
    (tmp_path / "secret").write_bytes(TEXT)
    git("add", ".")
    git("commit", "-qm", "all")
    (tmp_path / "secret").unlink()
    walk(place, tmp_path, budget)
    loose = {finding.inside for finding in place.findings}
    git("gc", "--quiet", "--aggressive", "--prune=now")
    walk(place, tmp_path, budget)

    assert loose == {"zlib"}
    assert {finding.inside for finding in place.findings} == {"zlib", "a git pack"}


def test_a_bomb_is_looked_into_up_to_a_bound(place, tmp_path, monkeypatch):
    monkeypatch.setattr(packed, "MOST_OF_A_FILE", 1_000_000)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bytes(50_000_000) + VALUE))

    walk(place, tmp_path, Budget())

    assert place.findings == []
    assert dict(place.limits) == {packed.IN_PART: 1}


def test_the_whole_scan_has_a_bound_too(place, tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.gz").write_bytes(gzip.compress(bytes(1_000_000)))
    budget = Budget(1_500_000)

    walk(place, tmp_path, budget)

    assert place.limits[packed.IN_PART] == 2
    assert budget.left < 0


NOISE = bytes(range(7, 107, 2))


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (b"\x28\xb5\x2f\xfd" + NOISE, packed.NOT_INSIDE),
        (b"\x1f\x8b\x08" + NOISE, packed.BROKEN),
        (gzip.compress(TEXT)[:-20], packed.BROKEN),
        (b"BZh9" + NOISE, packed.BROKEN),
        (b"\xfd7zXZ\x00" + NOISE, packed.BROKEN),
        (b"PK\x03\x04" + NOISE, packed.BROKEN),
        (b"PACK\x00\x00\x00\x02" + b"\xff" * 300, packed.BROKEN),
        (zipped()[:-30] + b"PK\x05\x06" + b"\xff" * 18, packed.IN_PART),
    ],
    ids=["zstd", "gzip", "gzip cut off", "bzip2", "xz", "zip", "git pack", "end of zip"],
)
def test_what_cannot_be_looked_into_is_told(place, budget, tmp_path, head, told):
    (tmp_path / "it").write_bytes(head)

    walk(place, tmp_path, budget)

    assert told in place.limits


def test_what_only_looks_packed_is_still_read(place, budget, tmp_path):
    (tmp_path / "it").write_bytes(b"x\x9c" + VALUE)

    walk(place, tmp_path, budget)

    assert [finding.inside for finding in place.findings] == [""]
    assert not place.limits
