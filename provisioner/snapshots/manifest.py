"""What a workspace holds, file by file, with a hash of each: to prove that two are the same.

One line of JSON per entry, ordered by path. Sockets are left out: they mean nothing without the
process that made them. Paths that are no UTF-8 keep their bytes (surrogateescape).
"""

import gzip
import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "pipe",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}
AT_ONCE = 1000  # files that wait for their hash: each takes memory meanwhile
HOST_ONLY = ("security.selinux", "trusted.")  # attributes that a host adds


class TooLarge(Exception):
    """A file of holes may claim any size, and each of its bytes would be hashed and sent."""

    def __init__(self, size: int) -> None:
        super().__init__(f"{size / 1024**3:.0f} GiB")


@dataclass(frozen=True)
class Entry:
    path: str  # below data/, without a leading slash
    kind: str  # see KINDS
    mode: int
    uid: int
    gid: int
    mtime_ns: int
    size: int = 0  # of files, in bytes
    sha256: str = ""  # of files
    target: str = ""  # of links
    same_as: str = ""  # of the second and later names of a hard-linked file: its first
    attributes: dict[str, str] = field(default_factory=dict)  # extended; values in hex

    @property
    def content(self) -> tuple[object, ...]:
        """What a person would call its content."""
        return self.kind, self.size, self.sha256, self.target


@dataclass(frozen=True)
class Manifest:
    entries: tuple[Entry, ...]

    @property
    def files(self) -> int:
        return sum(entry.kind == "file" for entry in self.entries)

    @property
    def size(self) -> int:
        """Bytes of all files, a hard-linked one once."""
        return sum(entry.size for entry in self.entries if not entry.same_as)

    @property
    def digest(self) -> str:
        found = hashlib.sha256()
        for line in self._lines():
            found.update(line)
        return found.hexdigest()

    def write(self, path: Path) -> None:
        """Whole or not at all."""
        part = path.with_suffix(".writing")
        with gzip.open(part, "wb", compresslevel=3) as file:
            file.writelines(self._lines())
        with part.open("rb") as done:
            os.fsync(done.fileno())
        part.rename(path)

    def _lines(self) -> Iterator[bytes]:
        for entry in self.entries:
            yield json.dumps(asdict(entry), separators=(",", ":")).encode() + b"\n"


def read(path: Path) -> Manifest:
    """Raises OSError, ValueError for one that was cut off or altered into nonsense."""
    try:
        with gzip.open(path, "rb") as lines:
            return Manifest(tuple(Entry(**json.loads(line)) for line in lines))
    except (EOFError, TypeError) as error:
        raise ValueError(f"{path.name} is no manifest.") from error


def of(data: Path, *, most: int | None = None) -> Manifest:
    """Of a directory that nobody writes to meanwhile. Links are not followed. Raises OSError, and
    TooLarge where its files have more than `most` bytes."""
    first: dict[tuple[int, int], str] = {}
    root = os.fsencode(data)
    entries = [_entry(root, path, first) for path in sorted(_walk(root))]
    listed = Manifest(tuple(entries))
    if most is not None and listed.size > most:
        raise TooLarge(listed.size)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for begin in range(0, len(entries), AT_ONCE):
            some = slice(begin, begin + AT_ONCE)
            entries[some] = pool.map(lambda entry: _hashed(root, entry), entries[some])
    return Manifest(tuple(entries))


def _walk(root: bytes, below: bytes = b"") -> Iterable[bytes]:
    """Paths below `root`; a deep tree is no deep recursion."""
    folders = [below]
    while folders:
        folder = folders.pop()
        with os.scandir(os.path.join(root, folder)) as found:
            for one in found:
                path = os.path.join(folder, one.name)
                if one.is_dir(follow_symlinks=False):
                    folders.append(path)
                if not stat.S_ISSOCK(one.stat(follow_symlinks=False).st_mode):
                    yield path


def _entry(root: bytes, path: bytes, first: dict[tuple[int, int], str]) -> Entry:
    whole = os.path.join(root, path)
    seen = os.lstat(whole)
    kind = KINDS[stat.S_IFMT(seen.st_mode)]
    name = os.fsdecode(path)
    known = first.setdefault((seen.st_dev, seen.st_ino), name) if seen.st_nlink > 1 else name
    is_file = kind == "file"
    return Entry(
        path=name,
        kind=kind,
        mode=stat.S_IMODE(seen.st_mode),
        uid=seen.st_uid,
        gid=seen.st_gid,
        mtime_ns=seen.st_mtime_ns,
        size=seen.st_size if is_file else 0,
        target=os.fsdecode(os.readlink(whole)) if kind == "link" else "",
        same_as=known if is_file and known != name else "",
        attributes=_attributes(whole),
    )


def _hashed(root: bytes, entry: Entry) -> Entry:
    if entry.kind != "file":
        return entry
    with open(os.path.join(root, os.fsencode(entry.path)), "rb") as file:
        return replace(entry, sha256=hashlib.file_digest(file, "sha256").hexdigest())


def _attributes(path: bytes) -> dict[str, str]:
    found = {}
    for name in sorted(os.listxattr(path, follow_symlinks=False)):
        if not name.startswith(HOST_ONLY):
            found[name] = os.getxattr(path, name, follow_symlinks=False).hex()
    return found
