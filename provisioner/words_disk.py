"""What is told of a disk that fills up: what, why, what to do."""

import re
from dataclasses import dataclass

from controlplane.agents.disk import percent
from controlplane.agents.models import DiskLevel
from provisioner import words
from provisioner.engines.base import LogLine
from provisioner.workspaces.base import Usage

GIBIBYTE = 1024**3
TODO = "Delete files it no longer needs, or give it a larger disk in its settings."
LOST = "Its disk is full: what it writes is lost until there is room"
PAST = "It is past its size, which this node cannot enforce"
WAY_OUT = "Give it a larger disk in its settings, then start it; nothing in its workspace is lost."
# The kernel's words, Python's, Node's, SQLite's.
NO_ROOM = re.compile(
    r"no space left on device|disk quota exceeded|\bENOSPC\b|\bEDQUOT\b|\bErrno (28|122)\b"
    r"|(database or )?disk is full",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Said:
    title: str
    detail: str


def said(level: DiskLevel, usage: Usage, *, hard: bool) -> Said:
    figures = _figures(usage)
    match level:
        case DiskLevel.FULL if hard:
            return Said(LOST, f"{figures}. {TODO}")
        case DiskLevel.FULL:
            return Said(PAST, f"{figures}. Nothing is lost while the node has room. {TODO}")
        case DiskLevel.NEARLY_FULL:
            then = " Once it is full, what it writes is lost." if hard else ""
            return Said("Its disk is nearly full", f"{figures}.{then} {TODO}")
        case DiskLevel.FILLING:
            return Said("Its disk is filling up", f"{figures}. {TODO}")
        case _:
            return Said("Its disk has room again", f"{figures}.")


def first_of_all(level: DiskLevel, usage: Usage | None, log: list[LogLine], *, hard: bool) -> str:
    """Where a full disk keeps an agent down: that, and the way out. Empty where it does not.

    Programs that end take their scraps along, so a disk may have a little room when it is measured;
    then their own words decide. Where a size is not enforced, only these do.
    """
    refused = words.refusal(log)[0] == "workspace_full"
    told = any(NO_ROOM.search(line.text) for line in log)
    nearly = level in {DiskLevel.FULL, DiskLevel.NEARLY_FULL}
    if not (refused or (hard and level == DiskLevel.FULL) or (nearly and told)):
        return ""
    figures = f"{_figures(usage)}. " if usage and nearly else ""
    return f"Its disk is full, and so it cannot go on. {figures}{WAY_OUT}"


def _figures(usage: Usage) -> str:
    """By bytes or by files, whichever is the worse."""
    if usage.inodes_share > usage.bytes_share:
        return (
            f"It has {usage.inodes_used:,} files and folders of the {usage.inodes_total:,} that "
            f"fit ({percent(usage.inodes_used, usage.inodes_total)} %), however small they are"
        )
    share = percent(usage.used, usage.total)
    return f"It uses {gib(usage.used)} of {gib(usage.total)} GiB ({share} %)"


def gib(number: int) -> str:
    return f"{number / GIBIBYTE:.1f}" if number < 100 * GIBIBYTE else f"{number / GIBIBYTE:.0f}"
