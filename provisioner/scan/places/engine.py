"""What the engine keeps: image layers, the container's own layer, metadata, its log."""

from pathlib import Path

from provisioner import names
from provisioner.scan.context import Context
from provisioner.scan.place import Place
from provisioner.scan.places.trees import NOT_ALLOWED, trees

NO_CONTAINER = "It has no container on this node now."
LINES = 100_000


def image(context: Context, place: Place) -> None:
    found = context.footprint
    trees(context, place, found.image, found.why_not or "Its image is not on this node.")


def container(context: Context, place: Place) -> None:
    found = context.footprint
    trees(context, place, found.writable, found.why_not or NO_CONTAINER)


def metadata(context: Context, place: Place) -> None:
    """Its API's answers first: they can be had without being root."""
    found = context.footprint
    for what, text in found.told.items():
        place.things += 1
        place.text(f"the engine's {what}", text)
    logs = {Path(path).name for path in found.logs}
    trees(context, place, found.metadata, "", leaving=logs)
    if place.why_not and found.told:
        place.why_not = ""  # the API told, and what could not be read is counted
    elif not place.things and not place.why_not:
        place.why_not = NO_CONTAINER


def networks(context: Context, place: Place) -> None:
    """One file of the engine's names every agent's network."""
    trees(context, place, context.footprint.shared, "The engine keeps no such file here.")


def logs(context: Context, place: Place) -> None:
    """Where the files cannot be read, as the engine tells it."""
    found = context.footprint
    paths = [str(one) for path in found.logs for one in _rotated(Path(path))]
    trees(context, place, paths, NO_CONTAINER)
    if place.why_not != NOT_ALLOWED and place.looked_at:
        return
    lines = context.backend.engine.log_tail(names.container(context.agent.pk), LINES)
    if lines or place.why_not == NOT_ALLOWED:
        place.why_not = ""
        place.things += 1
        place.text("the engine's log", "\n".join(line.text for line in lines).encode())


def _rotated(path: Path) -> list[Path]:
    """A log and its older parts, which are named after it."""
    return sorted(path.parent.glob(f"{path.name}*"))
