"""What pages say about keys and secrets: who uses one, how it was checked, how a rotation goes."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from controlplane.agents import keyring
from controlplane.agents.lifecycle import Goal
from controlplane.agents.models import Agent
from controlplane.keys.models import Key, Secret
from controlplane.tenants.access import Access
from frontend.looks import LEVELS, LOOKS, Look

RESULTS = {
    keyring.LIVE: LOOKS["running"],
    keyring.RESTARTING: LOOKS["restarting"],
    keyring.AT_NEXT_START: LEVELS["info"],
    keyring.FAILED: LOOKS["failed"],
    keyring.STOPPED: LOOKS["stopped"],
}
NAMED = 3  # agents that a row names; the others are counted


@dataclass(frozen=True)
class Row:
    """One line of a table: a key or secret with the names of the agents that use it."""

    thing: Key | Secret
    users: list[str] = field(default_factory=list)

    @property
    def named(self) -> list[str]:
        return self.users[:NAMED]

    @property
    def more(self) -> list[str]:
        return self.users[NAMED:]


@dataclass(frozen=True)
class Step:
    """What a rotation came to for one agent, to be drawn."""

    name: str
    look: Look
    message: str


@dataclass(frozen=True)
class Rotation:
    thing: Key | Secret
    steps: list[Step]
    live: int
    under_way: int

    @property
    def said(self) -> str:
        """The finding, in words."""
        number = len(self.steps)
        whole = "its one agent" if number == 1 else f"its {number} agents"
        if self.live == number:
            return f"The new value is live in {whole}."
        counted = "none" if not self.live else str(self.live)
        return f"The new value is live in {counted} of {whole}."


def rows(access: Access, things: Iterable[Key | Secret]) -> list[Row]:
    """In their order. Two questions to the database, however many there are."""
    agents = Agent.objects.of(access.organisation).order_by("name")
    users: dict[str, list[str]] = {}
    for column in ("release__key", "release__secrets"):
        found = agents.exclude(**{column: None}).values_list(column, "name")
        for thing, name in found:
            users.setdefault(thing, []).append(name)
    return [Row(thing, users.get(thing.pk, [])) for thing in things]


def rotation_of(thing: Key | Secret) -> Rotation:
    found = keyring.results(thing)
    steps = [Step(one.agent.name, RESULTS[one.result], one.message) for one in found]
    results = [one.result for one in found]
    return Rotation(thing, steps, results.count(keyring.LIVE), results.count(keyring.RESTARTING))


def running(thing: Key | Secret) -> list[str]:
    """The agents that a change concerns at once."""
    return list(keyring.users_of(thing).filter(goal=Goal.RUNNING).values_list("name", flat=True))


def listed(names: list[str], most: int = 12) -> str:
    """a, b and c; or the first of many, and how many more."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
