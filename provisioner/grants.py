"""What agents with a list were told, and may therefore connect to, for as long as that holds.

The guard's own set is the truth; the memory here spares it most repetitions, bounds what one
agent can fill it with, and puts it back when somebody has removed the table.
"""

import threading
import time
from collections.abc import Callable, Iterable

from provisioner import reach
from provisioner.guard import Target
from provisioner.reach import Reach

SHORTEST = 300  # seconds a way stays open, however short its name's time to live
SLACK = 60  # seconds beyond what the agent was told
FRESH = 30.0  # seconds in which a way that was opened is not opened again
MOST_EACH = 512  # ways of one agent at once


class TooMany(Exception):
    """The agent has as many ways open as one may have."""


class Grants:
    """`open_way` takes an agent, targets and seconds, and has the guard let them through."""

    def __init__(
        self, open_way: Callable[[Reach, Iterable[Target], int], None] = reach.allow
    ) -> None:
        self._open_way = open_way
        self._lock = threading.Lock()
        self._ways: dict[Reach, dict[Target, tuple[float, float]]] = {}  # opened, until

    def give(self, agent: Reach, targets: Iterable[Target], seconds: int) -> None:
        """In effect when it returns. Raises TooMany, GuardError."""
        lasting = max(SHORTEST, seconds + SLACK)
        wanted, moment = set(targets), time.monotonic()
        with self._lock:
            ways = self._ways.setdefault(agent, {})
            for target in [one for one, (_, until) in ways.items() if until < moment]:
                del ways[target]
            new = {
                one
                for one in wanted
                if one not in ways
                or ways[one][0] < moment - FRESH
                or ways[one][1] < moment + seconds
            }
            if len(ways.keys() | wanted) > MOST_EACH:
                raise TooMany
            # An earlier answer may be kept for longer than this one: its way is not shortened.
            ends = [ways[one][1] - moment for one in new if one in ways]
            lasting = max([lasting, *(int(end) + 1 for end in ends)])
        if new:
            self._open_way(agent, new, lasting)
        with self._lock:
            self._ways.setdefault(agent, {}).update(dict.fromkeys(new, (moment, moment + lasting)))

    def keep_only(self, agents: Iterable[Reach]) -> None:
        """Forget agents that are gone or have another list now."""
        wanted = set(agents)
        with self._lock:
            self._ways = {agent: ways for agent, ways in self._ways.items() if agent in wanted}

    def give_again(self) -> None:
        """All that still holds, after the guard's table was lost. Raises GuardError."""
        moment = time.monotonic()
        with self._lock:
            kept = {agent: dict(ways) for agent, ways in self._ways.items()}
        for agent, ways in kept.items():
            by_time: dict[int, list[Target]] = {}
            for target, (_, until) in ways.items():
                if until > moment:
                    by_time.setdefault(int(until - moment) + 1, []).append(target)
            for seconds, targets in by_time.items():
                self._open_way(agent, targets, seconds)
