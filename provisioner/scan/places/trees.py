"""Several trees of one place, each told apart by its own path."""

from collections.abc import Collection, Iterable
from pathlib import Path

from provisioner.scan.context import Context
from provisioner.scan.place import Place
from provisioner.scan.walking import UNREADABLE, walk

NOT_ALLOWED = "This process may not read it. Run the node as root."


def trees(
    context: Context,
    place: Place,
    roots: Iterable[str],
    missing: str,
    leaving: Collection[str] = (),
) -> None:
    """`missing` is why the place was not looked at where none of `roots` is there; without it
    nothing there is what is expected."""
    there = refused = 0
    for root in roots:
        try:
            walk(place, Path(root), context.budget, prefix=root, leaving=leaving)
            there += 1
        except FileNotFoundError:
            continue
        except OSError:
            refused += 1
            place.skip(UNREADABLE)
    if refused and not there:
        place.why_not = NOT_ALLOWED
    elif not there and missing:
        place.why_not = missing
