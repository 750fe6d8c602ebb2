"""The kernel's own calls for copies without copying, and for holding a file system still.

ioctl numbers: linux/fs.h (FICLONE, FIFREEZE, FITHAW).
"""

import fcntl
import os
from pathlib import Path

FICLONE = 0x40049409
FIFREEZE = 0xC0045877
FITHAW = 0xC0045878


def clone(source: Path, target: Path) -> None:
    """Share the source's blocks; both change alone from then on. On disk when this returns.
    Raises OSError where the file system below cannot (EOPNOTSUPP, EXDEV) or is full (ENOSPC)."""
    there = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        here = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.ioctl(here, FICLONE, there)
            os.fsync(here)
        finally:
            os.close(here)
    finally:
        os.close(there)


def freeze(point: Path) -> None:
    """Writers wait until `thaw`; what is on the disk below is whole."""
    _call(point, FIFREEZE)


def thaw(point: Path) -> bool:
    """False where it was not frozen."""
    try:
        _call(point, FITHAW)
    except OSError:
        return False
    return True


def _call(point: Path, number: int) -> None:
    handle = os.open(point, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(handle, number, 0)
    finally:
        os.close(handle)
