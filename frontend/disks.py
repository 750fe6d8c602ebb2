"""How full an agent's disk looks, now and over time."""

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.agents.disk import WINDOWS, Point, percent_of, points_of
from controlplane.agents.models import Agent, DiskLevel
from frontend.looks import LEVELS, Look
from provisioner.disks import DISK_SPACE

ROWS = 12  # of the table beside a graph
TITLES = {"24h": "24 hours", "7d": "7 days", "90d": "90 days"}
LOOKS = {
    DiskLevel.OK: LEVELS["ok"],
    DiskLevel.FILLING: LEVELS["warn"],
    DiskLevel.NEARLY_FULL: LEVELS["warn"],
    DiskLevel.FULL: LEVELS["bad"],
    DiskLevel.UNKNOWN: LEVELS["info"],
}


@dataclass(frozen=True)
class Disk:
    level: DiskLevel
    percent: int | None
    why: str  # what is the matter and what to do; empty while it is well

    @property
    def what(self) -> str:
        return self.why.partition(". ")[0]

    @property
    def then(self) -> str:
        return self.why.partition(". ")[2]

    @property
    def look(self) -> Look:
        return LOOKS[self.level]

    @property
    def full(self) -> bool:
        return self.level == DiskLevel.FULL

    @property
    def filled(self) -> int:
        """Of a bar of 100."""
        return min(100, self.percent or 0)


@dataclass(frozen=True)
class Graph:
    """`points` is what graph.js draws; `rows` are the same in a table."""

    window: str
    windows: Sequence[tuple[str, str]]
    points: str
    step: int
    rows: Sequence[Point]
    least: int
    most: int

    @property
    def title(self) -> str:
        return TITLES[self.window]


def disk_of(agent: Agent) -> Disk:
    told = [one for one in agent.conditions.all() if one.type == DISK_SPACE]
    why = told[0].message if told else ""
    return Disk(DiskLevel(agent.disk_level), percent_of(agent), why)


def graph_of(agent: Agent, window: str) -> Graph | None:
    """None before there is a line to draw. An unknown window is the shortest."""
    window = window if window in WINDOWS else next(iter(WINDOWS))
    points = points_of(agent, window)
    if len(points) < 2 and window == next(iter(WINDOWS)):
        return None
    return Graph(
        window=window,
        windows=list(TITLES.items()),
        points=";".join(f"{int(p.at.timestamp())},{p.used_bytes},{p.total_bytes}" for p in points),
        step=WINDOWS[window][1],
        rows=_few(points),
        least=min((point.used_bytes for point in points), default=0),
        most=max((point.used_bytes for point in points), default=0),
    )


def _few(points: Sequence[Point]) -> list[Point]:
    """The newest of each of a dozen stretches, the newest first."""
    stretch = -(-len(points) // ROWS) or 1
    return [*reversed(points)][::stretch]
