"""Writing down what was seen: status with its reason, conditions, and a line of the timeline.

Only what changed is written, in one transaction, under the lease's fence.
"""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils.timezone import now

from controlplane.agents.lease import Lease
from controlplane.agents.lifecycle import DEADLINES, Status
from controlplane.agents.models import Agent, Condition, Level
from controlplane.agents.timeline import tell
from provisioner.conditions import READY, conditions_of

LEVELS = {
    Status.RUNNING: Level.OK,
    Status.DEGRADED: Level.WARN,
    Status.WAITING: Level.WARN,
    Status.UNKNOWN: Level.WARN,
    Status.CRASH_LOOPING: Level.BAD,
    Status.FAILED: Level.BAD,
}
TITLES = {
    Status.STARTING: "Starting",
    Status.RUNNING: "Running, and answering",
    Status.DEGRADED: "Up, but not answering",
    Status.WAITING: "Waiting",
    Status.RESTARTING: "Coming up again",
    Status.STOPPING: "Stopping",
    Status.STOPPED: "Stopped",
    Status.SUSPENDED: "Suspended",
    Status.CRASH_LOOPING: "Gave up after it ended again and again",
    Status.FAILED: "Failed",
    Status.DELETING: "Deleting",
    Status.DELETED: "Deleted",
    Status.UNKNOWN: "The node's engine is silent",
}


def report(
    lease: Lease,
    agent: Agent,
    status: Status,
    *,
    reason: str = "",
    message: str = "",
    deadline_s: int | None = None,
    **columns: Any,
) -> None:
    """Write a status if it differs, and `columns` anyway; updates `agent` too. Raises LeaseLost.

    A status keeps its clock while only its message changes; a new wish starts it again.
    """
    message = message[:500]
    moved = agent.status != status
    changes: dict[str, Any] = {
        name: value for name, value in columns.items() if getattr(agent, name) != value
    }
    if moved or columns.get("observed_generation", agent.observed_generation) != (
        agent.observed_generation
    ):
        seconds = deadline_s if deadline_s is not None else DEADLINES.get(status)
        changes["status_since"] = now() if moved else agent.status_since
        changes["deadline_at"] = now() + timedelta(seconds=seconds) if seconds else None
    if moved:
        changes["status"] = status
    if agent.reason != reason:
        changes["reason"] = reason
    if agent.message != message:
        changes["message"] = message
    if not changes:
        return
    with transaction.atomic():
        lease.write(**changes)
        if moved or ("message" in changes and message):
            _tell(agent, status, message)
        if moved or "reason" in changes:
            _conditions(agent, status, reason, message)
    for name, value in changes.items():
        setattr(agent, name, value)


def step(lease: Lease, agent: Agent, name: str, title: str, detail: str = "") -> None:
    """A start has come as far as `name`."""
    with transaction.atomic():
        lease.write(step=name)
        tell(agent, f"step.{name}", title, detail=detail)
    agent.step = name


def _tell(agent: Agent, status: Status, message: str) -> None:
    level = LEVELS.get(status, Level.INFO)
    tell(agent, f"status.{status}", TITLES.get(status, status), detail=message, level=level)


def _conditions(agent: Agent, status: Status, reason: str, message: str) -> None:
    """`since` is when the condition's own status changed, so unchanged ones are left alone."""
    before = {row.type: row for row in agent.conditions.all()}
    for kind, value in conditions_of(status, reason).items():
        row = before.get(kind)
        if row is not None and row.status == value and kind != READY:
            continue
        told = {"reason": reason or str(status), "message": message}
        since = row.since if row is not None and row.status == value else now()
        Condition.objects.update_or_create(
            agent=agent, type=kind, defaults={"status": value, "since": since, **told}
        )
