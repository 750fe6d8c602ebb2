"""T11: what a stranger sends. Refused with a reason that names the entry, and nothing outside of
the folder is touched."""

import contextlib
import gzip
import os
import random
import tarfile

import pytest

from provisioner.portability.streams import Bad
from tests.provisioner.portability.conftest import compressed, entry, tar_of

LINK, HARD = tarfile.SYMTYPE, tarfile.LNKTYPE


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([entry("../out", b"x")], "leads out of the workspace"),
        ([entry("a/../../out", b"x")], "leads out of the workspace"),
        ([entry("/etc/passwd", b"x")], "absolute name"),
        ([entry("link", type=LINK, linkname="/etc/passwd")], "to /etc/passwd"),
        ([entry("link", type=LINK, linkname="../precious")], "leads out of the workspace"),
        ([entry("a/link", type=LINK, linkname="../../precious")], "leads out of the workspace"),
        ([entry("link", type=LINK, linkname="/workspace/../roost/keys")], "leads out"),
        ([entry("link", type=LINK, linkname="/usr/../etc/shadow")], "leads out"),
        ([entry("link", type=LINK, linkname="/run/agent")], "to /run/agent"),
        ([entry("hard", type=HARD, linkname="../precious")], "leads out of the workspace"),
        ([entry("hard", type=HARD, linkname="/etc/passwd")], "absolute link"),
        ([entry("hard", type=HARD, linkname="none")], "does not come before it"),
        ([entry("null", type=tarfile.CHRTYPE, devmajor=1, devminor=3)], "is a device"),
        ([entry("disk", type=tarfile.BLKTYPE, devmajor=7)], "is a device"),
        ([entry("pipe", type=tarfile.FIFOTYPE)], "is a pipe"),
        ([entry("odd", type=b"Z")], "no file, folder or link"),
        (
            [entry("d", type=LINK, linkname="/usr/lib"), entry("d/x", b"x")],
            "lies below what is a link",
        ),
        (
            [entry("d", type=LINK, linkname="."), entry("d/x", b"x")],
            "lies below what is a link",
        ),
        ([entry("f", b"x"), entry("f/x", b"x")], "lies below what is a link or a file"),
        ([entry("n" * 300, b"x")], "File name too long"),
    ],
)  # fmt: skip
def test_what_leads_out_is_refused(taken, disk, entries, why):
    with pytest.raises(Bad, match=why) as told:
        taken(compressed(tar_of(*entries)))

    assert told.value.reason in {"archive_refused", "archive_too_large"}
    assert entries[-1][0].name[-100:].encode("unicode_escape").decode() in str(told.value)
    assert (disk.parent / "precious").read_text() == "untouched"
    assert sorted(os.listdir(disk.parent)) == ["data", "precious"]
    assert not os.path.exists(disk.parent.parent / "out")


def test_rights_of_others_are_stripped(taken, disk):
    taken(compressed(tar_of(entry("su", b"x", mode=0o6755), entry("odd\udcff\n", b"y"))))

    seen = (disk / "su").stat()
    assert (oct(seen.st_mode), seen.st_uid) == ("0o100755", 10001)
    assert (disk / os.fsdecode(b"odd\xff\n")).read_text() == "y"


def test_of_two_entries_of_one_name_the_later_counts_and_no_link_is_followed(taken, disk):
    taken(
        compressed(
            tar_of(
                entry("twice", b"first"),
                entry("name", type=HARD, linkname="twice"),
                entry("twice", b"second"),
            )
        )
    )

    assert (disk / "twice").read_text() == "second"
    assert (disk / "name").read_text() == "first"


def test_a_bomb_ends_at_the_size_of_the_disk(taken, disk):
    bomb = tar_of(entry("zeros", bytes(200 * 1024**2)))
    assert len(compressed(bomb)) < 50_000

    with pytest.raises(Bad, match="unpacks to more than") as told:
        taken(compressed(bomb))

    assert told.value.reason == "archive_too_large"


def test_a_bomb_of_gzip_in_many_small_steps(taken):
    bomb = gzip.compress(tar_of(*[entry(f"{n}", bytes(1024**2)) for n in range(200)]))

    with pytest.raises(Bad, match="unpacks to more than"):
        taken(bomb)


def test_a_file_that_claims_to_be_larger_than_any_disk(taken):
    """As a sparse file can, with next to nothing in the archive."""
    head = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "sparse",
            "GNU.sparse.realsize": str(2**50)}  # fmt: skip
    content = b"1\n0\n0\n".ljust(512, b"\0")

    with pytest.raises(Bad, match="claim far more than"):
        taken(compressed(tar_of(entry("s", content, pax_headers=head))))


def test_a_header_that_is_larger_than_memory(taken):
    made = tarfile.TarInfo("x")
    made.type, made.size = tarfile.XHDTYPE, 2**40
    head = made.tobuf(tarfile.GNU_FORMAT)
    with pytest.raises(Bad) as told:
        taken(compressed(head + bytes(1024**2)))
    assert told.value.reason in {"archive_refused", "archive_cut_off", "archive_damaged",
                                 "archive_too_large"}  # fmt: skip


DICE = random.Random(7)  # noqa: S311  the same every time
WHOLE = tar_of(entry("a", DICE.randbytes(40_000)), entry("b", b"b" * 20_000))


@pytest.mark.parametrize("pack", [compressed, gzip.compress, bytes], ids=["zst", "gz", "tar"])
@pytest.mark.parametrize("left", [0.2, 0.5, 0.7])
def test_one_that_was_cut_off_is_told(taken, pack, left):
    packed = pack(WHOLE)

    with pytest.raises(Bad) as told:
        taken(packed[: int(len(packed) * left)])

    assert told.value.reason == "archive_cut_off"


def test_one_that_was_cut_between_two_entries_is_told(taken):
    """Where tarfile would end without a word."""
    with pytest.raises(Bad) as told:
        taken(WHOLE[: 512 + 40_448])

    assert told.value.reason == "archive_cut_off"


@pytest.mark.parametrize("pack", [compressed, gzip.compress], ids=["zst", "gz"])
def test_one_that_was_altered_is_told(taken, pack):
    packed = bytearray(pack(WHOLE))
    for at in range(len(packed) // 2, len(packed) // 2 + 400):
        packed[at] ^= 0xFF

    with pytest.raises(Bad) as told:
        taken(bytes(packed))

    assert told.value.reason in {"archive_damaged", "archive_cut_off"}


@pytest.mark.parametrize(
    "junk",
    [b"", b"x", b"PK\x03\x04" + bytes(1000), b"\x28\xb5\x2f\xfdnonsense" * 9, b"\x1f\x8b" * 90,
     b"\x28\xb5\x2f\xfd", compressed(b"hello"), compressed(b""), DICE.randbytes(9000)],
)  # fmt: skip
def test_what_is_no_archive_is_told(taken, disk, junk):
    with pytest.raises(Bad):
        taken(junk)

    assert os.listdir(disk) == []


def test_another_runtimes_workspace_is_refused_where_nothing_takes_it_over(taken):
    label = entry("roost-export.json", b'{"format": 1, "runtime": "opensre"}')

    with pytest.raises(Bad, match="a workspace of opensre") as told:
        taken(compressed(tar_of(label, entry("workspace/x", b"x"))))

    assert told.value.reason == "other_runtime"


@pytest.mark.parametrize(
    "label",
    [b"", b"[]", b"{}", b"\xff", b'{"runtime": ["hermes"]}', b'{"runtime": []}',
     b'{"runtime": {}}', b'{"runtime": 7}', b"[" * 60_000, b" " * 70_000],
)  # fmt: skip
def test_a_label_that_says_nothing_is_refused(taken, label):
    with pytest.raises(Bad) as told:
        taken(compressed(tar_of(entry("roost-export.json", label))))

    assert told.value.reason == "archive_refused"
    assert "roost-export.json" in str(told.value)


@pytest.mark.parametrize(
    ("kind", "headers"),
    [
        (b"0", {"path": "a\0b"}),
        (b"5", {"path": "a\0b"}),
        (b"2", {"linkpath": "a\0b"}),
        (b"0", {"SCHILY.xattr.user.a\0b": "x"}),
        (b"0", {"mtime": "9" * 40}),
        (b"5", {"mtime": "9" * 40}),
        (b"5", {"mtime": "1e999"}),
        (b"0", {"mtime": "9" * 5000}),
        (b"0", {"GNU.sparse.map": "x,y", "GNU.sparse.size": "9"}),
        (b"0", {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "z"}),
    ],
)
def test_headers_that_no_file_can_have_are_told(taken, kind, headers):
    made = entry("folder" if kind == b"5" else "a", type=kind, linkname="b", pax_headers=headers)
    with pytest.raises(Bad) as told:
        taken(compressed(tar_of(entry("b", b"x"), made)))

    assert told.value.reason in {"archive_damaged", "archive_refused"}
    assert "without a word" not in str(told.value)


def test_an_export_holds_its_workspace_and_no_more(taken):
    label = entry("roost-export.json", b'{"format": 1, "runtime": "hermes"}')

    with pytest.raises(Bad, match="lies outside of workspace/"):
        taken(compressed(tar_of(label, entry("else/x", b"x"))))


def test_random_archives_never_touch_what_is_beside(taken, disk):
    """Each is told as Bad, or does no harm."""
    for _ in range(12):
        packed = bytearray(WHOLE)
        for _ in range(DICE.randrange(1, 40)):
            packed[DICE.randrange(len(packed))] = DICE.randrange(256)
        with contextlib.suppress(Bad):
            taken(bytes(packed))
    assert (disk.parent / "precious").read_text() == "untouched"
    assert sorted(os.listdir(disk.parent)) == ["data", "precious"]
