"""How full workspaces are and were: the figures that a node measured, for pages and programs."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef
from django.db.models.functions import TruncHour
from django.utils.timezone import now

from controlplane.agents.models import Agent, DiskSample

SLOT = 300  # seconds between two samples
DENSE = timedelta(days=2)  # then one an hour is kept
KEPT = timedelta(days=90)

# Of each window its length and the seconds that one point of a graph stands for: at most 289.
WINDOWS = {
    "24h": (timedelta(hours=24), SLOT),
    "7d": (timedelta(days=7), 3600),
    "90d": (timedelta(days=90), 8 * 3600),
}


@dataclass(frozen=True)
class Point:
    at: datetime
    used_bytes: int
    total_bytes: int

    @property
    def percent(self) -> int:
        return percent(self.used_bytes, self.total_bytes)


def percent(used: int, total: int) -> int:
    """As df says it: rounded up, so that nothing is full before it is."""
    return -(-100 * used // total) if total else 0


def percent_of(agent: Agent) -> int | None:
    if agent.disk_used is None or agent.disk_total is None:
        return None
    return percent(agent.disk_used, agent.disk_total)


def disk_of(agent: Agent) -> dict[str, Any]:
    return {
        "used_bytes": agent.disk_used,
        "total_bytes": agent.disk_total,
        "percent": percent_of(agent),
        "enforcement": agent.quota_enforcement,
        "at": agent.disk_at,
        "level": agent.disk_level,
    }


def points_of(agent: Agent, window: str) -> list[Point]:
    """Oldest first: of each step of the window the fullest sample, so that no peak is lost."""
    length, step = WINDOWS[window]
    samples = DiskSample.objects.filter(agent=agent, at__gt=now() - length).order_by("at")
    fullest: dict[int, Point] = {}
    for at, used, total in samples.values_list("at", "used", "total"):
        slot = int(at.timestamp()) // step
        if slot not in fullest or used > fullest[slot].used_bytes:
            fullest[slot] = Point(at, used, total)
    return list(fullest.values())


def slot_of(moment: datetime) -> datetime:
    return moment - timedelta(seconds=moment.timestamp() % SLOT)


def forget_old() -> int:
    """What is older than two days is thinned to the first of each hour, what is older than 90 days
    goes. Returns how many went."""
    moment = now()
    gone, _ = DiskSample.objects.filter(at__lt=moment - KEPT).delete()
    earlier = DiskSample.objects.filter(
        agent=OuterRef("agent"), at__gte=OuterRef("hour"), at__lt=OuterRef("at")
    )
    hourly = DiskSample.objects.annotate(hour=TruncHour("at"))
    dense = hourly.filter(Exists(earlier), at__lt=moment - DENSE, at__minute__gt=0)
    thinned, _ = dense.delete()
    return gone + thinned
