"""Opening what lies in a tree whose owner may mean ill.

Each name is opened from its directory's own handle and never through a link, so that a directory
that is swapped for a link meanwhile leads nowhere. What lies on another file system, and what is
no file, is not opened.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

AS_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
AS_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # no pipe holds us up
NOWHERE = {"", ".", ".."}


class NoFile(OSError):
    """A link, a folder, a pipe, a device; or it lies on another file system."""


@contextmanager
def opened_root(root: Path) -> Iterator[int]:
    """Raises OSError."""
    handle = os.open(root, AS_DIRECTORY)
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def opened_folder(root: int, names: Iterable[str]) -> Iterator[int]:
    """The folder that these names lead to, one below the other. Raises FileNotFoundError, and
    OSError for what is no folder of the same file system."""
    device = os.fstat(root).st_dev
    with ExitStack() as held:
        handle = root
        for name in names:
            if name in NOWHERE or "/" in name:
                raise OSError(errno.EINVAL, "no name of a folder")
            handle = os.open(name, AS_DIRECTORY, dir_fd=handle)
            held.callback(os.close, handle)
            if os.fstat(handle).st_dev != device:
                raise OSError(errno.EXDEV, "on another file system")
        yield handle


@contextmanager
def opened_file(folder: int, name: str) -> Iterator[int]:
    """Looked at before it is opened, because opening a device can do something by itself. Raises
    NoFile, OSError."""
    if name in NOWHERE or "/" in name:
        raise NoFile(errno.EINVAL, "no name of a file")
    device = os.fstat(folder).st_dev
    _check(os.lstat(name, dir_fd=folder), device)
    handle = os.open(name, AS_FILE, dir_fd=folder)
    try:
        _check(os.fstat(handle), device)
        yield handle
    finally:
        os.close(handle)


def _check(status: os.stat_result, device: int) -> None:
    if not stat.S_ISREG(status.st_mode) or status.st_dev != device:
        raise NoFile(errno.EINVAL, "no file of this file system")
