"""Holes of files: restic 0.14 writes every zero, so a restored file takes its whole size."""

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

LARGE = 1024 * 1024  # bytes; in smaller files there is nothing to win
PIECE = 4 * LARGE
BLOCK = b"\0" * 4096  # what a file system can leave out
TIMEOUT = 3600  # seconds for one file


def dig_holes(folder: Path) -> None:
    """Give back the blocks that hold nothing but zeros; times of files stay as they were."""
    for path in _large_files(os.fsencode(folder)):
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        try:
            if _has_zeros(handle):
                _dig(handle)
        finally:
            os.close(handle)


def _has_zeros(handle: int) -> bool:
    """A look is cheap beside a run of the tool, and most large files have none."""
    offset = 0
    while piece := os.pread(handle, PIECE, offset):
        if BLOCK in piece:
            return True
        offset += len(piece)
    return False


def _dig(handle: int) -> None:
    was = os.fstat(handle)
    argv = ["fallocate", "--dig-holes", f"/proc/self/fd/{handle}"]
    # A file system without holes keeps the zeros: bigger, and right all the same.
    subprocess.run(argv, pass_fds=(handle,), capture_output=True, check=False, timeout=TIMEOUT)
    os.utime(handle, ns=(was.st_atime_ns, was.st_mtime_ns))


def _large_files(top: bytes) -> Iterator[bytes]:
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            found = os.lstat(path)
            if stat.S_ISREG(found.st_mode) and found.st_size >= LARGE:
                yield path
