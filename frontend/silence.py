"""Nodes that do not report: what pages show of their agents is old, and wishes wait for them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from django.utils.timezone import now

from controlplane.agents.lifecycle import Status
from controlplane.agents.models import Agent
from frontend.verdicts import status_of
from provisioner.models import Node

PATIENCE = timedelta(seconds=30)  # a node reports every 5 s
UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


@dataclass(frozen=True)
class Silence:
    node: str
    since: datetime | None  # None: it never reported

    @property
    def age(self) -> str:
        """How old a status may be, rounded up."""
        seconds = (now() - self.since).total_seconds() if self.since else 0.0
        unit, size = next((unit for unit in UNITS if seconds > unit[1]), UNITS[-1])
        number = ceil(seconds / size)
        return f"{number} {unit}{'' if number == 1 else 's'}"


def silences_of(agents: Iterable[Agent]) -> list[Silence]:
    """Of the nodes that these agents are on. One query."""
    names = {agent.node for agent in agents}
    heard = dict(Node.objects.filter(pk__in=names).values_list("pk", "heartbeat_at"))
    fresh = {name for name, at in heard.items() if now() - at <= PATIENCE}
    return [Silence(name, heard.get(name)) for name in sorted(names - fresh)]


def holding(agent: Agent, silences: Iterable[Silence]) -> Silence | None:
    """The silence that a queued agent waits for to end."""
    if status_of(agent) != Status.PENDING:
        return None
    return next((silence for silence in silences if silence.node == agent.node), None)
