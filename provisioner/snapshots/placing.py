"""Putting one entry of a snapshot into a workspace that its agent may be writing to.

Whole or not at all: it is written beside, made durable, and renamed into place. Every folder is
opened from its parent's own handle and never through a link, so that an agent that swaps one for a
link meanwhile leads nowhere else.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from provisioner.confined import AS_DIRECTORY, opened_file, opened_folder
from provisioner.snapshots.manifest import Entry
from provisioner.snapshots.naming import written
from provisioner.snapshots.ship import NotAsItWas
from provisioner.workspaces.base import WorkspaceTrouble

PIECE = 1024 * 1024  # bytes
ZEROS = bytes(PIECE)
AS_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class NotPlaced(WorkspaceTrouble):
    """Something in the live workspace is in its way, or there is no room."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{written(path)} was not put back: {why}.")


def place(copy: int, live: int, entry: Entry, folders: Mapping[str, Entry], *, part: str) -> None:
    """From the copy's root to the live one's. `folders` says how one that is missing is made;
    `part` is the name under which it is written first. Raises NotPlaced, NotAsItWas, OSError of
    the copy."""
    with _told(entry.path):
        make_folders(live, entry.path, folders)
        *names, name = entry.path.split("/")
        with opened_folder(live, names) as here:
            if entry.kind == "link":
                _replace(here, name, part, lambda: _write_link(here, entry, part))
                return
            with opened_folder(copy, names) as there, opened_file(there, name) as source:
                _replace(here, name, part, lambda: _write_file(source, here, entry, part))


def make_folders(live: int, path: str, folders: Mapping[str, Entry]) -> None:
    """Those above `path` that are not there. Raises OSError."""
    names = path.split("/")[:-1]
    for depth, name in enumerate(names):
        with opened_folder(live, names[:depth]) as above:
            try:
                os.mkdir(name, 0o700, dir_fd=above)
            except FileExistsError:
                continue
            dress_folder(live, folders["/".join(names[: depth + 1])])


def dress(live: int, entry: Entry, folders: Mapping[str, Entry]) -> None:
    """A folder of the snapshot, made where it is not there. Raises NotPlaced."""
    with _told(entry.path):
        make_folders(live, f"{entry.path}/x", folders)
        dress_folder(live, entry)


def dress_folder(live: int, entry: Entry) -> None:
    """Owner, rights and times as in the snapshot. Raises OSError."""
    *names, name = entry.path.split("/")
    with opened_folder(live, names) as above:
        handle = os.open(name, AS_DIRECTORY, dir_fd=above)
        try:
            _dress(handle, entry)
        finally:
            os.close(handle)


def remove(live: int, path: str) -> None:
    """A file that the snapshot does not have; absent counts as removed."""
    *names, name = path.split("/")
    with _told(path), contextlib.suppress(FileNotFoundError), opened_folder(live, names) as here:
        os.unlink(name, dir_fd=here)
        os.fsync(here)


def _replace(here: int, name: str, part: str, write: Callable[[], None]) -> None:
    _clear(here, part)
    try:
        write()
        os.rename(part, name, src_dir_fd=here, dst_dir_fd=here)
    except BaseException:
        with contextlib.suppress(OSError):
            _clear(here, part)
        raise
    os.fsync(here)


def _clear(here: int, part: str) -> None:
    """What a worker left that was killed."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(part, dir_fd=here)


def _write_file(source: int, here: int, entry: Entry, part: str) -> None:
    target = os.open(part, AS_NEW, 0o600, dir_fd=here)
    try:
        if _copy(source, target) != entry.sha256:
            raise NotAsItWas("copy on the node", written(entry.path))
        _dress(target, entry)
        os.fsync(target)
    finally:
        os.close(target)


def _write_link(here: int, entry: Entry, part: str) -> None:
    os.symlink(entry.target, part, dir_fd=here)
    os.chown(part, entry.uid, entry.gid, dir_fd=here, follow_symlinks=False)
    os.utime(part, ns=(entry.mtime_ns, entry.mtime_ns), dir_fd=here, follow_symlinks=False)


def _copy(source: int, target: int) -> str:
    """The hash of what was copied; what is only zeros stays a hole."""
    digest = hashlib.sha256()
    with open(source, "rb", closefd=False) as read, open(target, "wb", closefd=False) as write:
        while piece := read.read(PIECE):
            digest.update(piece)
            if piece == ZEROS[: len(piece)]:
                write.seek(len(piece), os.SEEK_CUR)
            else:
                write.write(piece)
        write.truncate()
    return digest.hexdigest()


def _dress(handle: int, entry: Entry) -> None:
    os.fchown(handle, entry.uid, entry.gid)
    os.fchmod(handle, entry.mode)
    for name, value in entry.attributes.items():
        os.setxattr(handle, name, bytes.fromhex(value))
    os.utime(handle, ns=(entry.mtime_ns, entry.mtime_ns))


def room_for(copy: int, live: int, entries: list[Entry]) -> int:
    """Bytes that are missing for all of them; 0 where there is room. Each needs its room beside
    the one it replaces, one at a time."""
    grows = largest = 0
    for entry in entries:
        new, old = _blocks(copy, entry.path), _blocks(live, entry.path)
        grows += max(0, new - old)
        largest = max(largest, new)
    seen = os.fstatvfs(live)
    return max(0, grows + largest - seen.f_bavail * seen.f_frsize)


def _blocks(root: int, path: str) -> int:
    *names, name = path.split("/")
    try:
        with opened_folder(root, names) as folder:
            found = os.lstat(name, dir_fd=folder)
    except OSError:
        return 0
    return found.st_blocks * 512 if stat.S_ISREG(found.st_mode) else 0


@contextmanager
def _told(path: str) -> Iterator[None]:
    """From the system's words to ours."""
    try:
        yield
    except (IsADirectoryError, NotADirectoryError, FileExistsError) as error:
        raise NotPlaced(path, "a folder or a file lies in its way. Move that away") from error
    except OSError as error:
        raise NotPlaced(path, error.strerror or str(error)) from error
