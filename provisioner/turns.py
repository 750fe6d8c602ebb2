"""Taking turns at booting: a node starts a few agents at once, the others wait for a place.

A boot of OpenClaw takes twenty seconds of a core; eight at once would all be slow, and on a busy
host some would be judged dead. A place is taken before a container starts, and is free again when
its agent answers or is given up, or after several times what a boot usually takes: agents that
never come up, or whose worker died, do not keep everybody else's down until their own deadline.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, transaction
from django.utils.timezone import now

from controlplane.agents.lease import Lease
from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.models import Agent
from runtimes.catalog import CATALOG

BOOTING = {Status.STARTING, Status.RESTARTING}
LEAST_HELD, TIMES_USUAL = 60.0, 5  # seconds a place is held, or so many times a usual boot


class NoTurn(Exception):
    """All places of this node are taken by agents that are booting."""

    def __init__(self) -> None:
        super().__init__("Other agents are starting on its node just now; its turn comes next.")


def take(lease: Lease, agent: Agent) -> None:
    """Hold a place, or raise NoTurn. Twice is once. Raises LeaseLost."""
    with transaction.atomic():
        # Counting and taking are two steps; one at a time per node.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [f"boot {agent.node}"])
        if _holds(agent.runtime, agent.booting_since):
            return
        if _others_booting(agent) >= settings.ROOST_PARALLEL_BOOTS:
            raise NoTurn
        agent.booting_since = now()
        lease.write(booting_since=agent.booting_since)


def _others_booting(agent: Agent) -> int:
    others = Agent.objects.on(agent.node).filter(goal=Goal.RUNNING, booting_since__isnull=False)
    rows = others.exclude(pk=agent.pk).values_list("runtime", "booting_since")
    return sum(_holds(runtime, since) for runtime, since in rows)


def _holds(runtime: str, since: datetime | None) -> bool:
    """Whether a place that was taken then still is."""
    if since is None:
        return False
    seconds = max(LEAST_HELD, TIMES_USUAL * CATALOG[runtime].start_usual_s)
    return now() - since < timedelta(seconds=seconds)
