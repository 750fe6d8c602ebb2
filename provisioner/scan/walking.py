"""Walking a tree that somebody else changes meanwhile, without ever leaving it.

Each name is opened from its directory's own handle and never through a link, and what lies on
another file system is not entered, so a directory that is swapped for a link leads nowhere.
"""

import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from provisioner.scan.packed import Budget, look_inside
from provisioner.scan.place import Place
from provisioner.scan.reading import read_through

DEEPEST = 200  # levels, each of which holds a handle
AS_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
AS_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # no pipe holds us up
UNREADABLE = "files or folders that could not be read"
TOO_DEEP = f"folders not entered, deeper than {DEEPEST} levels"
ELSEWHERE = "folders not entered, on other file systems"


def walk(
    place: Place, root: Path, budget: Budget, *, prefix: str = "", leaving: Collection[str] = ()
) -> None:
    """Look at every file below `root`, or at `root` itself, and at every name. `leaving` are names
    directly below it that are looked at elsewhere. Raises OSError where `root` cannot be read."""
    if not stat.S_ISDIR(os.lstat(root).st_mode):
        with _opened(os.open(root, AS_FILE)) as handle:
            look_at(place, budget, prefix or str(root), handle)
        return
    top = os.open(root, AS_DIRECTORY)
    _Walk(place, budget, os.fstat(top).st_dev).folder(top, prefix, 0, frozenset(leaving))


def look_at(place: Place, budget: Budget, path: str, handle: int) -> None:
    """One open file: as it is, and unpacked. Devices, pipes and sockets hold nothing."""
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        return
    place.things += 1
    place.add(path, read_through(place, handle, found.st_size))
    look_inside(place, budget, path, handle, found.st_size)


class _Walk:
    def __init__(self, place: Place, budget: Budget, device: int) -> None:
        self.place, self.budget, self.device = place, budget, device

    def folder(self, handle: int, path: str, depth: int, leaving: frozenset[str]) -> None:
        """Closes `handle`."""
        with _opened(handle):
            for name in _names(self.place, handle):
                if name not in leaving:
                    self._entry(handle, name, os.path.join(path, name), depth)

    def _entry(self, parent: int, name: str, path: str, depth: int) -> None:
        place = self.place
        try:
            mode = os.lstat(name, dir_fd=parent).st_mode
            place.add(path, place.needles.find(os.fsencode(name)), "its name")
            if stat.S_ISLNK(mode):
                target = os.readlink(os.fsencode(name), dir_fd=parent)
                place.add(path, place.needles.find(target), "where a link leads")
            elif stat.S_ISDIR(mode):
                self._enter(os.open(name, AS_DIRECTORY, dir_fd=parent), path, depth + 1)
            elif stat.S_ISREG(mode):
                with _opened(os.open(name, AS_FILE, dir_fd=parent)) as handle:
                    if os.fstat(handle).st_dev == self.device:
                        look_at(place, self.budget, path, handle)
        except FileNotFoundError:
            return  # it went away meanwhile
        except OSError:
            place.skip(UNREADABLE)

    def _enter(self, handle: int, path: str, depth: int) -> None:
        if depth > DEEPEST:
            os.close(handle)
            self.place.skip(TOO_DEEP)
        elif os.fstat(handle).st_dev != self.device:
            os.close(handle)
            self.place.skip(ELSEWHERE)
        else:
            self.folder(handle, path, depth, frozenset())


def _names(place: Place, handle: int) -> Iterator[str]:
    try:
        with os.scandir(handle) as entries:
            for entry in entries:
                yield entry.name
    except OSError:
        place.skip(UNREADABLE)


class _opened:  # noqa: N801  reads as a block
    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __enter__(self) -> int:
        return self.handle

    def __exit__(self, *_: object) -> None:
        os.close(self.handle)
