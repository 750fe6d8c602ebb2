"""What the pages say of releases and upgrades: the history, what could be had, how far it is."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.agents import history
from controlplane.agents.lifecycle import Status
from controlplane.agents.models import Agent, Cause, Condition, Egress, Isolation, Release
from controlplane.agents.releases import release_of, update_for
from controlplane.jobs.models import JobStatus
from controlplane.upgrades.models import UPGRADE, Halt, Outcome, Upgrade
from controlplane.upgrades.queries import failure_of, halt_of
from frontend.looks import Look, look_of
from frontend.steps import BUSY, DONE, TODO, Step
from frontend.templatetags.roost import cores, memory
from runtimes.catalog import CATALOG

LOOKS = {
    Outcome.KEPT: Look("ok", "running", "Kept"),
    Outcome.ROLLED_BACK: Look("warn", "degraded", "Rolled back"),
    Outcome.ROLLBACK_FAILED: Look("bad", "failed", "Not rolled back"),
    Outcome.NOT_RUN: Look("warn", "degraded", "Not begun"),
    Outcome.UNJUDGED: Look("idle", "unknown", "Not judged"),
}
UNDER_WAY = Look("busy", "starting", "Under way", spins=True)
GIVEN_UP = Look("bad", "failed", "Given up")
PINS = {
    Cause.CREATED: "plus",
    Cause.CHANGED: "gear",
    Cause.UPGRADED: "release",
    Cause.ROLLED_BACK: "undo",
    Cause.ROLLED_BACK_BY_ITSELF: "shield",
}
FIELDS = {
    "image": "Image",
    "runtime_version": "Version",
    "key": "Key",
    "model": "Model",
    "memory_mb": "Memory",
    "cpu_millis": "Processor",
    "disk_gib": "Workspace",
    "egress": "Reach",
    "egress_hosts": "Listed hosts",
    "isolation": "Isolation",
    "background": "Work unasked",
    "secrets": "Secrets",
}
WORDS: dict[str, Callable[[Any], str]] = {
    "memory_mb": memory,
    "cpu_millis": cores,
    "disk_gib": "{} GiB".format,
    "egress": lambda value: Egress(value).label,
    "isolation": lambda value: Isolation(value).label,
}
# The words of provisioner.upgrades.run, by the step of the list that they belong to.
AHEAD = (
    ("Checks", "Image, keys, room on the node, no turn under way", {"", "checking", "asking"}),
    ("Snapshot", "Of the workspace, with a hash of every file", {"copying", "listing"}),
    ("Switch", "A new container on the same workspace", {"switching"}),
    ("First answer", "It counts as running once it has answered", {"starting"}),
    ("A message", "Where it answered one before, it must now", {"asking_again"}),
    ("Configuration", "No key of it may be missing", {"comparing"}),
)
BACK = (
    ("Proof", "The snapshot from before is read and compared", {"rolling_back"}),
    ("Back", "The version and the workspace from before", {"restoring"}),
    ("Answering again", "With the version from before", {"returning"}),
)


@dataclass(frozen=True)
class Row:
    """One release of the history."""

    release: Release
    pin: str
    changes: list[tuple[str, str, str]]  # field, old, new
    now: bool


@dataclass(frozen=True)
class Offer:
    """A newer image."""

    title: str  # Hermes 0.19.0 → 0.20.0
    failed: Upgrade | None
    halt: Halt | None


def rows_of(agent: Agent, releases: Sequence[Release]) -> list[Row]:
    before = history.before(releases)
    return [
        Row(
            one,
            PINS.get(Cause(one.cause), "gear"),
            [_told(change) for change in history.changes(before.get(one.number), one)],
            one.pk == agent.release_id,
        )
        for one in releases
    ]


def _told(change: history.Change) -> tuple[str, str, str]:
    name = FIELDS.get(change.field, change.field)
    return name, _value(change.field, change.old), _value(change.field, change.new)


def _value(field: str, value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if value in (None, "", []):
        return "none"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(WORDS[field](value)) if field in WORDS else str(value)


def offer_of(agent: Agent) -> Offer | None:
    """None where it runs the newest image of its runtime."""
    newest = update_for(agent)
    if newest is None:
        return None
    has, runtime = release_of(agent).runtime_version, CATALOG[agent.runtime].title
    to = newest.version if newest.version != has else f"{has}, built anew"
    failed, halt = failure_of(agent, newest.image), halt_of(newest.image)
    return Offer(f"{runtime} {has} → {to}", failed, halt)


def stuck(agent: Agent, conditions: Iterable[Condition]) -> Condition | None:
    """An upgrade that failed both ways, for as long as it does not run: whoever brought it back
    knows."""
    if agent.status == Status.RUNNING:
        return None
    rows = (row for row in conditions if row.type == UPGRADE)
    return next((row for row in rows if row.reason == "rollback_failed"), None)


def upgrade_look(one: Upgrade) -> Look:
    if one.status == JobStatus.PENDING:
        return look_of("pending")
    if one.status == JobStatus.RUNNING:
        return UNDER_WAY
    return LOOKS[Outcome(one.outcome)] if one.outcome else GIVEN_UP


def steps_of(one: Upgrade) -> list[Step]:
    """Of one that is under way. Once it goes back, only the way back is told."""
    parts = BACK if any(one.step in words for _, _, words in BACK) else AHEAD
    at = next((place for place, part in enumerate(parts) if one.step in part[2]), 0)
    return [
        Step(title, detail, DONE if place < at else BUSY if place == at else TODO)
        for place, (title, detail, _) in enumerate(parts)
    ]


def goes_back(one: Upgrade) -> bool:
    return any(one.step in words for _, _, words in BACK)
