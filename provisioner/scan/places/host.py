"""Processes of this host, and memory that went to a disk."""

import os
from pathlib import Path

from provisioner.scan.context import Context
from provisioner.scan.place import Place

PROC = Path("/proc")
INSIDE = "environments left out, of processes in containers: an agent's own may hold its keys"
UNREADABLE = "processes that could not be looked at"


def processes(context: Context, place: Place) -> None:
    """Command lines of all; environments only outside of containers."""
    ours = _namespace("self")
    for process in sorted(PROC.glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            _process(place, process, ours)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
        except OSError:
            place.skip(UNREADABLE)


def _process(place: Place, process: Path, ours: str) -> None:
    name = (process / "comm").read_text(errors="replace").strip()
    place.things += 1
    place.text(f"process {process.name} ({name}), command line", (process / "cmdline").read_bytes())
    if _namespace(process.name) == ours:
        environment = (process / "environ").read_bytes()
        place.text(f"process {process.name} ({name}), environment", environment)
    else:
        place.skip(INSIDE)


def _namespace(process: str) -> str:
    return os.readlink(PROC / process / "ns" / "pid")


def swap(context: Context, place: Place) -> None:
    """What was swapped out cannot be told apart from any other memory of the host."""
    lines = (PROC / "swaps").read_text().splitlines()[1:]
    if lines:
        place.why_not = (
            f"This node swaps to {lines[0].split()[0]}, which holds memory of every process. Run "
            "nodes without swap, or with encrypted swap."
        )
