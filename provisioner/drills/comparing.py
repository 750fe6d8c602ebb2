"""What an agent stands on after its recovery, against the snapshot from before.

Every file and link of the snapshot must be there with the same content, except for what its
runtime rewrites whenever it boots: the patterns `volatile` of its manifest. What came anew is no
loss.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from provisioner.snapshots.manifest import Entry, Manifest

MOST = 50  # differences that are listed
COMPARED = {"file", "link"}


@dataclass
class Comparison:
    """Bytes of files that were read and compared."""

    files: int = 0
    equal: int = 0
    size: int = 0
    passed_over: int = 0  # files that a boot rewrites
    differences: list[dict[str, str]] = field(default_factory=list)

    @property
    def lost(self) -> int:
        return self.files - self.equal


def compare(before: Manifest, after: Manifest, volatile: Iterable[str]) -> Comparison:
    there = {entry.path: entry for entry in after.entries}
    patterns, found = tuple(volatile), Comparison()
    for entry in before.entries:
        if entry.kind not in COMPARED:
            continue
        if is_volatile(entry.path, patterns):
            found.passed_over += 1
            continue
        found.files += 1
        found.size += entry.size
        _look(entry, there.get(entry.path), found)
    return found


def is_volatile(path: str, patterns: Iterable[str]) -> bool:
    """`*` spans folders; a pattern is of the whole path below the workspace."""
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def _look(before: Entry, after: Entry | None, found: Comparison) -> None:
    if after is not None and after.content == before.content:
        found.equal += 1
    elif len(found.differences) < MOST:
        what = "missing" if after is None else "changed"
        # A name may hold anything; what is no text is shown with marks in its place.
        shown = before.path.encode(errors="surrogateescape").decode(errors="replace")
        found.differences.append({"path": shown.replace("\x00", ""), "what": what})
