"""What came back against the manifest of the snapshot, file by file."""

from dataclasses import dataclass

from controlplane.snapshots.models import Snapshot
from provisioner.snapshots import manifest
from provisioner.snapshots.difference import difference
from provisioner.snapshots.manifest import Manifest
from provisioner.workspaces.base import Clones

MOST = 50  # differences that are listed


@dataclass(frozen=True)
class Compared:
    equal: bool
    differences: list[dict[str, str]]
    total: int  # 0 also where nobody knows which files differ

    def __str__(self) -> str:
        if self.equal:
            return "nothing differs"
        if not self.differences:
            return "which files differ is not known: their list went with the copy on the node"
        first = self.differences[0]
        others = f" and {self.total - 1} more" if self.total > 1 else ""
        path = first["path"] if len(first["path"]) <= 200 else f"{first['path'][:199]}…"
        return f"{path}{others}: {first['what']}"


def compare(clones: Clones, snapshot: Snapshot, found: Manifest) -> Compared:
    """The digest decides. Which files differ is told by the list beside the copy on the node,
    where there is one and it is the one whose digest was written down."""
    if found.digest == snapshot.manifest_sha256:
        return Compared(True, [], 0)
    wanted = _wanted(clones, snapshot)
    if wanted is None:
        return Compared(False, [], 0)
    paths = [
        {"path": _shown(path), "what": what}
        for what, group in vars(difference(wanted, found)).items()
        for path in group
    ]
    return Compared(False, paths[:MOST], len(paths))


def _wanted(clones: Clones, snapshot: Snapshot) -> Manifest | None:
    try:
        kept = manifest.read(clones.manifest(snapshot.agent_id, snapshot.pk))
    except (OSError, ValueError):
        return None
    return kept if kept.digest == snapshot.manifest_sha256 else None


def _shown(path: str) -> str:
    """A name may hold anything; what is no text is shown with marks in its place."""
    return path.encode(errors="surrogateescape").decode(errors="replace").replace("\x00", "")
