"""Whose a block of a disk image is, and where a file lies on the disk below it.

By e2fsprogs' debugfs, which reads an image without mounting it, and by the kernel's FIEMAP.
"""

import contextlib
import fcntl
import os
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

BLOCK = 4096  # mkfs.ext4's choice for every disk we make
MOST = 500  # blocks that are asked for
TIMEOUT = 120  # seconds
JOURNAL = {"8": "the journal of the disk"}
FIEMAP = 0xC020660B
FIEMAP_HEAD = struct.Struct("=QQLLLL")
FIEMAP_EXTENT = struct.Struct("=QQQQQLLLL")
AT_ONCE = 256
SYNC, LAST, UNKNOWN = 1, 1, 2


def flush(point: Path | None) -> None:
    """What was written lies on the disk. Whatever goes wrong, the disk is read as it is."""
    if point is not None:
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(
                ["sync", "--file-system", str(point)], capture_output=True, check=False,
                timeout=TIMEOUT,
            )  # fmt: skip


def owners(image: Path, offsets: Sequence[int]) -> dict[int, str]:
    """By offset, the path within the image of the file that holds it; nothing where none does, or
    where debugfs is not there to tell."""
    blocks = {offset: str(offset // BLOCK) for offset in offsets[:MOST]}
    inodes = _ask(image, "icheck", set(blocks.values()))
    paths = _ask(image, "ncheck", set(inodes.values()) - set(JOURNAL)) | JOURNAL
    found = {}
    for offset, block in blocks.items():
        path = paths.get(inodes.get(block, ""), "")
        if path:
            found[offset] = f"/{path.lstrip('/')}" if path.startswith("/") else path
    return found


def _ask(image: Path, verb: str, numbers: set[str]) -> dict[str, str]:
    """debugfs answers a line for each: the number, a tab, what it belongs to."""
    asked = sorted(number for number in numbers if number.isdigit())
    if not asked:
        return {}
    try:
        done = subprocess.run(
            ["debugfs", "-R", f"{verb} {' '.join(asked)}", str(image)],
            capture_output=True, check=False, timeout=TIMEOUT,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return {}
    rows = (line.partition("\t") for line in os.fsdecode(done.stdout).splitlines())
    return {number: said for number, tab, said in rows if tab and number in numbers}


def extents(path: Path) -> list[tuple[int, int]]:
    """Where a file lies on its disk, as (begin, end) in bytes; empty where nobody can say."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return list(_extents(handle))
    except OSError:
        return []
    finally:
        os.close(handle)


def _extents(handle: int) -> Iterator[tuple[int, int]]:
    at = 0
    while True:
        room = bytearray(FIEMAP_HEAD.size + AT_ONCE * FIEMAP_EXTENT.size)
        FIEMAP_HEAD.pack_into(room, 0, at, 2**63 - 1 - at, SYNC, 0, AT_ONCE, 0)
        fcntl.ioctl(handle, FIEMAP, room)
        mapped = FIEMAP_HEAD.unpack_from(room)[3]
        for number in range(mapped):
            place = FIEMAP_HEAD.size + number * FIEMAP_EXTENT.size
            logical, physical, length, _, _, flags, *_ = FIEMAP_EXTENT.unpack_from(room, place)
            at = logical + length
            if not flags & UNKNOWN:
                yield physical, physical + length
            if flags & LAST:
                return
        if not mapped:
            return
