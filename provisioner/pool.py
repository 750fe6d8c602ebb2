"""The room that a node's workspaces share, for its operators.

Workspaces take what they hold, not what they may hold, so a pool can be promised more than once.
"""

from django.conf import settings
from django.db.models import Sum

from controlplane.agents.models import Agent
from provisioner.backend import Backend
from provisioner.models import Node

GIBIBYTE = 1024**3
LOW = 0.10  # of the pool


def note(backend: Backend) -> None:
    """Measure it, and write it to the node's row."""
    room = backend.workspaces.room()
    Node.objects.filter(pk=settings.ROOST_NODE).update(
        pool_total=room.total if room else None,
        pool_free=room.free if room else None,
        pool_reserve=room.reserve if room else None,
        pool_promised=promised() if room else None,
    )


def promised() -> int:
    """Bytes that the workspaces on this node come to when all are full, deleted ones too as long
    as they are kept."""
    made = Agent.objects.on(settings.ROOST_NODE).exclude(workspace_made_at=None)
    return (made.aggregate(gib=Sum("release__disk_gib"))["gib"] or 0) * GIBIBYTE


def overcommitment(row: Node) -> float | None:
    """How many times over the pool is promised."""
    if not row.pool_total or row.pool_promised is None:
        return None
    return row.pool_promised / row.pool_total


def weaknesses(row: Node | None) -> list[str]:
    if row is None or not row.pool_total or row.pool_free is None:
        return []
    left = f"{row.pool_free / GIBIBYTE:.1f} of {row.pool_total / GIBIBYTE:.1f} GiB"
    if row.pool_free < (row.pool_reserve or 0):
        return [
            f"Its pool of workspaces has {left} left, less than its reserve: new workspaces are "
            f"refused, and once it is full every agent's disk is. {_todo(row)}"
        ]
    if row.pool_free < LOW * row.pool_total:
        return [f"Its pool of workspaces has {left} left. {_todo(row)}"]
    return []


def _todo(row: Node) -> str:
    times = overcommitment(row) or 0
    return (
        f"Its workspaces are promised {times:.1f} times the pool. Delete agents that nobody needs, "
        "or give the pool a larger disk."
    )
