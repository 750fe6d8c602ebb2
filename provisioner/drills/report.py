"""What a drill writes down for people and programs: see docs/drills.md."""

from typing import Any

from controlplane.drills.models import Drill
from provisioner.drills.comparing import Comparison

FORMAT = 1


def report_of(drill: Drill, found: Comparison, messages_after: int | None) -> dict[str, Any]:
    """Of one that came back; the columns of its row are not repeated."""
    return {
        "format": FORMAT,
        "node": drill.agent.node,
        "runtime": drill.agent.runtime,
        "files_passed_over": found.passed_over,
        "files_lost": found.lost,
        "messages_before": drill.messages_before,
        "messages_after": messages_after,
    }


def sentence(found: Comparison, reachable: bool | None) -> str:
    """What was lost, and what to do."""
    said = []
    if found.differences:
        first = found.differences[0]
        others = f" and {found.lost - 1} more" if found.lost > 1 else ""
        path = first["path"] if len(first["path"]) <= 200 else f"{first['path'][:199]}…"
        said.append(f"{path}{others}: {first['what']} after the recovery.")
    if reachable is False:
        said.append("Its main conversation is shorter than before, or cannot be read.")
    said.append("The snapshot of the drill is kept: put the workspace back to it, then ask why.")
    return " ".join(said)
