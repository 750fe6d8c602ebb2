"""The processor time that processes have used, from /proc."""

import os
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def seconds(pid: int) -> float:
    """Of one process with all its threads, and of its children that have ended."""
    return sum(map(int, _stat(pid)[11:15])) / _TICK


def with_children(pid: int) -> float:
    """The same for a process and every child it has now."""
    found = seconds(pid)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _parent(int(entry.name)) == pid:
            found += seconds(int(entry.name))
    return found


def _parent(pid: int) -> int:
    try:
        return int(_stat(pid)[1])
    except OSError:
        return 0


def _stat(pid: int) -> list[str]:
    # The name is in brackets and may hold anything, brackets included.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
