"""How recovery drills look: a verdict each, and the last one that says something."""

from dataclasses import dataclass

from controlplane.agents.models import Agent
from controlplane.drills.models import Drill, Hurt, Verdict
from controlplane.jobs.models import JobStatus
from frontend.looks import Look, look_of

PASSED = Look("ok", "running", "Survived")
FAILED = Look("bad", "failed", "Did not survive")
NO_VERDICT = Look("warn", "degraded", "No verdict")
PENDING = look_of("pending")
UNDER_WAY = Look("busy", "starting", "Under way", spins=True)
DONE = {
    Verdict.PASSED: PASSED,
    Verdict.FAILED: FAILED,
    Verdict.NOT_RUN: NO_VERDICT,
}

WHAT = {
    Hurt.PROCESS: "its main process was killed",
    Hurt.CONTAINER: "its container was removed",
    Hurt.REBOOT: "a simulated reboot of its node",
    Hurt.ENGINE: "the engine was restarted",
}
HAPPENS = {
    Hurt.PROCESS: "As a crash does: kill -9, without warning. The engine starts it again.",
    Hurt.CONTAINER: "As a bad clean-up does. The platform makes a new one on the same workspace.",
    Hurt.REBOOT: "Stopped hard, its disk unmounted, its keys gone. No other agent notices.",
}
STEPS = {
    "checking": ("Looking whether it may be ended", 0),
    "copying": ("Taking a snapshot", 1),
    "listing": ("Hashing every file of the snapshot", 1),
    "ending": ("Ending it", 2),
    "recovering": ("Coming back", 3),
    "comparing": ("Comparing every file", 4),
}
LAST_STEP = 5


@dataclass(frozen=True)
class Choice:
    value: str
    title: str
    why: str


def choices() -> list[Choice]:
    """What a person can choose; the engine's restart hurts neighbours and is left to operators."""
    return [Choice(kind.value, kind.label, why) for kind, why in HAPPENS.items()]


def drill_look(one: Drill) -> Look:
    if one.status == JobStatus.PENDING:
        return PENDING
    if one.status == JobStatus.RUNNING:
        return UNDER_WAY
    return DONE.get(Verdict(one.verdict), NO_VERDICT) if one.verdict else NO_VERDICT


def last_told(agent: Agent) -> Drill | None:
    """The newest that says how recovery is."""
    rows = agent.drills.filter(verdict__in=[Verdict.PASSED, Verdict.FAILED])
    return rows.order_by("-created_at", "-pk").first()
