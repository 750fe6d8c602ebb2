"""The workspace, file by file so that a file can be named, and the raw blocks below it."""

import os
from pathlib import Path

from provisioner.scan import blocks
from provisioner.scan.context import Context
from provisioner.scan.needles import Hit
from provisioner.scan.place import Place
from provisioner.scan.places.trees import trees
from provisioner.scan.reading import read_through
from provisioner.scan.walking import AS_FILE, walk

INSIDE = "/workspace"  # as the agent sees it
NO_FILE = "blocks that no file holds any more"
NO_DISK = "blocks that no disk holds any more"
LARGEST_POOL = 32 * 1024**3  # written bytes that are read through


def workspace(context: Context, place: Place) -> None:
    data = context.kept.data
    if data is None:
        place.why_not = "It is not mounted now; its disk is looked at below."
        return
    walk(place, data, context.budget, prefix=INSIDE)


def disk(context: Context, place: Place) -> None:
    image = context.kept.disk
    if image is None:
        place.why_not = "Its workspace has no disk of its own on this node."
        return
    blocks.flush(context.kept.data)
    hits = _raw(place, image)
    owners = blocks.owners(image, [hit.start for hit in hits])
    known = _known(context)
    for hit in hits:
        owner = owners.get(hit.start, "")
        path = f"{INSIDE}{owner.removeprefix('/data')}" if owner.startswith("/data") else owner
        if (path, hit.secret) not in known:
            place.add(path or NO_FILE, [hit])


def copies(context: Context, place: Place) -> None:
    trees(context, place, [str(path) for path in context.kept.copies], "")


def pool(context: Context, place: Place) -> None:
    """Blocks that a disk gave back may hold what it held; the pool's own disk keeps them."""
    image = context.kept.pool
    if image is None:
        place.why_not = "Workspaces of this node lie on no pool."
        return
    if image.stat().st_blocks * 512 > LARGEST_POOL:
        place.why_not = (
            f"It holds more than {LARGEST_POOL >> 30} GiB of all agents' data. Its blocks of this "
            "agent are looked at above."
        )
        return
    blocks.flush(image.parent / "pool")
    own = [path for path in (context.kept.disk, *context.kept.copies) if path and path.is_file()]
    extents = [extent for path in own for extent in blocks.extents(path)]
    hits = [hit for hit in _raw(place, image) if not _within(hit, extents)]
    others = _disks(image.parent / "pool") if hits else {}
    for hit in hits:
        name = next((name for name, lies in others.items() if _within(hit, lies)), "")
        place.add(f"blocks of {name}" if name else NO_DISK, [hit])


def _within(hit: Hit, extents: list[tuple[int, int]]) -> bool:
    return any(start <= hit.start < end for start, end in extents)


def _disks(folder: Path) -> dict[str, list[tuple[int, int]]]:
    """Where each disk and snapshot of the pool lies, by its path there."""
    return {
        str(path.relative_to(folder)): blocks.extents(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def _raw(place: Place, image: Path) -> list[Hit]:
    handle = os.open(image, AS_FILE)
    try:
        place.things += 1
        return read_through(place, handle, os.fstat(handle).st_size)
    finally:
        os.close(handle)


def _known(context: Context) -> set[tuple[str, str]]:
    """What the workspace's files have told already; a name lies in its folder's block."""
    found = context.done["workspace"].findings if "workspace" in context.done else []
    return {
        pair
        for one in found
        for pair in ((one.path, one.secret), (str(Path(one.path).parent), one.secret))
    }
