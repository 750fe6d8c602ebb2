"""Where a row is older than what is there, nothing is ended for it.

A database that was restored knows an agent as it was: another release, stopped, deleted. What that
row would have a pass take down or remove is left as it is until people have asked for something
since: then they know better than either.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.utils.timezone import now

from controlplane.agents.conditions import set_condition
from controlplane.agents.lease import Lease
from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.models import Agent, Condition, Level, Release
from controlplane.agents.timeline import tell
from controlplane.audit.actor import SYSTEM
from controlplane.audit.record import record
from controlplane.snapshots.models import Restore
from provisioner import memory, names, networks
from provisioner.backend import Backend
from provisioner.conditions import CURRENT
from provisioner.engines.base import Container
from provisioner.look import Look
from provisioner.plan import Decision, Step, Wish, decide
from provisioner.report import report

log = logging.getLogger(__name__)

ENDING = {Step.STOP, Step.REMOVE, Step.REPLACE, Step.SWAP}
AGAIN = timedelta(minutes=1)
# An unmount is written to the disk; one that somebody held open is only then unmounted.
SLACK = timedelta(minutes=10)
DELETED = "row_says_deleted"
UNKNOWN_RELEASE = "release_unknown"
ASKED = "asked_for_anew"
TODO = "Nothing of it was ended or removed."


@dataclass
class RowIsOlder(Exception):
    """Nothing is ended. `reason` is for programs, `message` for people; `status` is what was seen,
    where the row would tell another."""

    reason: str
    message: str
    status: Status | None = None

    def __str__(self) -> str:
        return self.message


def catch_up(agent: Agent, container: Container | None) -> bool:
    """Restarts that the row does not know of were asked for and done: counted, not done again."""
    if container is None or container.restart <= agent.restart_serial:
        return False
    with transaction.atomic():
        behind = Agent.objects.filter(pk=agent.pk, restart_serial__lt=container.restart)
        if not behind.update(restart_serial=container.restart):
            return False
        data = {"restarts_before": agent.restart_serial, "restarts": container.restart}
        organisation = agent.organisation_id
        record(SYSTEM, "agent.caught_up", agent.pk, organisation=organisation, data=data)
    return True


def count_on(containers: Iterable[Container]) -> None:
    """Of releases that the database does not know any more, the next one's number is above them:
    also of agents that are down, of which no pass has anything to end."""
    if memory.older_since() is None:
        return
    seen = {one.agent_id: one.release for one in containers}
    rows = Agent.objects.filter(pk__in=seen).annotate(newest=Max("releases__number"))
    for agent_id, newest in rows.values_list("pk", "newest"):
        if seen[agent_id] > (newest or 0):
            behind = Agent.objects.filter(pk=agent_id, observed_release__lt=seen[agent_id])
            behind.update(observed_release=seen[agent_id])


def heed(backend: Backend, lease: Lease, agent: Agent, found: Look, decision: Decision) -> Decision:
    """What is done, before it is written: the decision, or, for a container of a release that the
    database does not know, what that release needs to go on. Raises RowIsOlder, LeaseLost."""
    try:
        _heed(backend, agent, found, decision)
    except RowIsOlder as why:
        if why.reason != UNKNOWN_RELEASE or (container := found.seen.container) is None:
            raise
        # Its first run was its own release's: the settings of another would be given to it.
        seen = replace(found.seen, set_up=True)
        there = decide(replace(found.wish, release=container.release), seen)
        if there.step in ENDING:
            why.status = _as_seen(found, there) if agent.goal == Goal.RUNNING else None
            raise
        _keep(lease, agent, container, why)
        return there
    return decision


def _heed(backend: Backend, agent: Agent, found: Look, decision: Decision) -> None:
    row = _doubt(agent)
    if row is None and decision.step not in ENDING:
        return
    why = _contradiction(backend, agent, found.seen.container, row)
    if decision.step in ENDING:
        # What is ended of one that should run is ended for what was seen, not for what is written.
        written = agent.goal != Goal.RUNNING or decision.step is Step.SWAP
        asked = _asked(agent, row, found.wish, decision)
        _refuse(agent, row, why, written=written, asked=asked)
    elif why is None and row is not None:
        _calm(agent)


def refuse_purge(backend: Backend, agent: Agent) -> None:
    """Before what is left of a deleted agent goes. Raises RowIsOlder, EngineUnavailable."""
    row = _doubt(agent)
    container = backend.engine.inspect(names.container(agent.pk))
    why = _contradiction(backend, agent, container, row)
    if why is None and _used_since(backend, agent):
        why = RowIsOlder(
            DELETED,
            "Its row says that it was deleted, and its workspace was written to since. The "
            f"database may be older than that. {TODO} Bring it back, or bring it back and delete "
            "it again.",
        )
    _refuse(agent, row, why, written=True, asked=_was_asked(row))


def hold(lease: Lease, agent: Agent, container: Container | None, why: RowIsOlder) -> None:
    """Write down that nothing is done, and look again later. A deleted one has its time of grace
    once more, so that somebody can bring it back. Raises LeaseLost."""
    moment = now()
    columns: dict[str, Any] = {"due_at": moment + AGAIN, "observed_generation": agent.generation}
    if agent.purge_at is not None and agent.purge_at <= moment:
        grace = timedelta(seconds=settings.ROOST_DELETE_GRACE_SECONDS)
        columns["purge_at"] = moment + grace
    with transaction.atomic():
        if why.status is None:
            lease.write(**columns)
        else:
            same = agent.status == why.status
            reason, message = (agent.reason, agent.message) if same else ("", "")
            report(lease, agent, why.status, reason=reason, message=message, **columns)
        _keep(lease, agent, container, why)


def _keep(lease: Lease, agent: Agent, container: Container | None, why: RowIsOlder) -> None:
    """What is there stays as it is: its address its own, its release's number not given again, and
    the doubt written down and told once."""
    with transaction.atomic():
        if container is not None:
            networks.keep(agent, container.address)
            if container.release > agent.observed_release:
                lease.write(observed_release=container.release)
                agent.observed_release = container.release
        if _doubt(agent) is None:
            title = "What is there does not fit what is written down"
            tell(agent, "older", title, detail=why.message, level=Level.WARN)
            log.warning("%s: %s", agent.pk, why)
        set_condition(agent, CURRENT, status=False, reason=why.reason, message=why.message)


def _as_seen(found: Look, there: Decision) -> Status:
    """Of one that should run, of which something would be ended, and is not."""
    container = found.seen.container
    if container is None or container.state != "running":
        return there.status
    return Status.RUNNING if found.seen.healthy else Status.DEGRADED


def _asked(agent: Agent, row: Condition | None, wish: Wish, decision: Decision) -> bool:
    """Whether people have asked for it since. Another disk was asked for when its restore was: a
    wish that the copy brought back looks like a new one, and may have been fulfilled long ago."""
    if decision.step is not Step.SWAP or (since := memory.older_since()) is None:
        return wish.changed or _was_asked(row)
    return Restore.objects.filter(pk=agent.disk_wanted, created_at__gte=since).exists()


def _was_asked(row: Condition | None) -> bool:
    """Kept until it is done, also by a worker that comes after the one that saw the wish."""
    return row is not None and row.reason == ASKED


def _refuse(
    agent: Agent, row: Condition | None, why: RowIsOlder | None, *, written: bool, asked: bool
) -> None:
    if why is None and written and memory.older_since() is not None:
        why = RowIsOlder(
            "database_restored",
            "The database is older than what its node has done, so nobody knows whether this is "
            f"still wanted. {TODO} Ask for it again, or ask your operator.",
        )
    if why is None:
        if row is not None:
            _calm(agent)
    elif asked:
        with transaction.atomic():
            set_condition(agent, CURRENT, status=False, reason=ASKED, message="")
    else:
        raise why


def _contradiction(
    backend: Backend, agent: Agent, container: Container | None, row: Condition | None
) -> RowIsOlder | None:
    """How what is there is newer than the row, where it is."""
    if agent.goal == Goal.DELETED:
        # Once told, it stays so: what is done about it meanwhile is no answer.
        told = row is not None and row.reason == DELETED
        settled = agent.status == Status.DELETED and container is not None
        # One that a late worker made, a moment after the deletion, is no sign of anything.
        if told or (settled and _used_since(backend, agent)):
            return RowIsOlder(
                DELETED,
                "Its row says that it was deleted, and its container is there. The database may be "
                f"older than that. {TODO} Bring it back, or bring it back and delete it again.",
            )
    elif container is not None and container.release > _newest(agent):
        return RowIsOlder(
            UNKNOWN_RELEASE,
            f"Its container has release {container.release}, which the database does not know: "
            f"it may be older than that. {TODO} Change its settings to what they should be, or "
            "restart it to go back to the release that is known.",
        )
    return None


def _used_since(backend: Backend, agent: Agent) -> bool:
    """Whether its workspace was written to long after its row came to its status."""
    used = backend.workspaces.used_at(agent.pk)
    return used is not None and used > agent.status_since + SLACK


def _newest(agent: Agent) -> int:
    """The number of the newest release that is known, whichever is wanted now."""
    numbers = Release.objects.filter(agent=agent).order_by("-number")
    return numbers.values_list("number", flat=True).first() or 0


def _doubt(agent: Agent) -> Condition | None:
    return Condition.objects.filter(agent=agent, type=CURRENT, status=False).first()


def _calm(agent: Agent) -> None:
    with transaction.atomic():
        set_condition(agent, CURRENT, status=True, reason="as_written", message="")
