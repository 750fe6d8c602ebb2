"""The guard against lost configuration: the keys that files of a runtime had before an upgrade and
have no more after it. Only names of keys are compared and told, never what they hold."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path

from provisioner.confined import opened_file, opened_folder, opened_root
from provisioner.snapshots.manifest import Manifest
from provisioner.snapshots.naming import written
from provisioner.upgrades.reading import MOST_BYTES, Unreadable, keys_of, told

MOST_FILES = 500  # an agent may make as many as it likes
MOST_LOST = 10_000
WHOLE = ""  # the key of a file that is gone or unreadable as a whole


@dataclass(frozen=True)
class Lost:
    file: str
    key: str  # WHOLE, or its path

    def __str__(self) -> str:
        shown = written(self.file)
        return f"{told(self.key)} of {shown}" if self.key else f"all of {shown}"


def config_files(before: Manifest, patterns: Iterable[str]) -> list[str]:
    """Those of patterns that are names go first: of the others an agent may have too many."""
    wanted = tuple(patterns)
    files = (entry.path for entry in before.entries if entry.kind == "file")
    found = [path for path in files if any(fnmatchcase(path, one) for one in wanted)]
    return sorted(sorted(found, key=lambda path: path not in wanted)[:MOST_FILES])


def lost(files: Iterable[str], before: Path, after: Path, may_drop: Iterable[str]) -> list[Lost]:
    """Of these files below two roots. One that could not be read before says nothing; one that
    cannot be read any more is lost. Raises OSError where a root itself cannot be opened."""
    allowed, found = tuple(may_drop), list[Lost]()
    for path in files:
        if len(found) >= MOST_LOST:
            break
        had = _keys(before, path)
        if had is None or not had:
            continue
        has = _keys(after, path)
        gone = {WHOLE} if has is None else had - has
        mourned = {key for key in gone if not _may_go(path, key, allowed)}
        found += [Lost(path, key) for key in sorted(_topmost(mourned))]
    return found


def _may_go(path: str, key: str, allowed: Iterable[str]) -> bool:
    """A rule is of one key and of all below it."""
    names = (f"{path}:{one}" for one in chain((key,), _parents(key)))
    return any(fnmatchcase(name, rule) for name in names for rule in allowed)


def _topmost(keys: set[str]) -> set[str]:
    """A table that went took what was in it along: it is told once."""
    return {key for key in keys if not any(parent in keys for parent in _parents(key))}


def _parents(key: str) -> Iterator[str]:
    return (key[:at] for at, letter in enumerate(key) if letter in ".[" and at)


def _keys(root: Path, path: str) -> set[str] | None:
    *folders, name = path.split("/")
    with opened_root(root) as top:
        try:
            with (
                opened_folder(top, folders) as folder,
                opened_file(folder, name) as handle,
                open(handle, "rb", closefd=False) as file,
            ):
                return keys_of(name, file.read(MOST_BYTES + 1))
        except (OSError, Unreadable):
            return None
