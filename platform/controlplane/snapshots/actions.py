"""What people can do with snapshots: take, restore, delete. Forks are agents: agents.actions."""

from typing import Any

from django.db import IntegrityError, transaction
from django.utils.timezone import now

from controlplane.agents.lifecycle import Goal
from controlplane.agents.models import Agent
from controlplane.agents.releases import release_of
from controlplane.agents.timeline import tell
from controlplane.audit.record import record
from controlplane.errors import Invalid
from controlplane.jobs.dispatch import request_job
from controlplane.jobs.exclusive import AgentAtWork, refuse_at_work
from controlplane.snapshots.databases import database_of
from controlplane.snapshots.errors import (
    DatabaseInUse,
    NothingToSnapshot,
    RestoreUnderWay,
    SnapshotNotUsable,
    TooManySnapshots,
)
from controlplane.snapshots.models import Origin, Restore, Snapshot
from controlplane.tenants.access import Access

MOST = 200  # of one agent, by hand
LONGEST_NOTE = 200
LONGEST_PATH = 20_000
LONGEST_SHOWN = 100


def take_snapshot(access: Access, agent: Agent, *, note: str = "") -> Snapshot:
    """Of the workspace as it is now; the agent goes on meanwhile."""
    access.require("agents:write")
    if len(note) > LONGEST_NOTE or not note.isprintable():
        raise Invalid("note", f"A note is one line of at most {LONGEST_NOTE} characters.")
    with transaction.atomic():
        agent = Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
        if agent.snapshots.kept().count() >= MOST:
            raise TooManySnapshots(MOST)
        snapshot = add_snapshot(agent, Origin.MANUAL, access.actor.label, note=note)
        tell(agent, "snapshot.asked", "A snapshot was asked for", actor=access.actor.label)
        _record(access, "agent.snapshot_taken", snapshot)
    return snapshot


def add_snapshot(agent: Agent, origin: Origin, by: str, *, note: str = "") -> Snapshot:
    """For people's wishes and for the platform's own; call inside a transaction. Raises
    NothingToSnapshot."""
    if agent.workspace_made_at is None:
        raise NothingToSnapshot(agent.name)
    snapshot = new_snapshot(agent, origin, by, note=note)
    request_job(snapshot)
    return snapshot


def new_snapshot(agent: Agent, origin: Origin, by: str, **columns: Any) -> Snapshot:
    """The row alone, for who sees to its copy."""
    release = release_of(agent)
    return Snapshot.objects.create(
        agent=agent,
        origin=origin,
        requested_by=by,
        release=release.number,
        disk_gib=release.disk_gib,
        **columns,
    )


def restore_snapshot(access: Access, snapshot: Snapshot, *, path: str = "") -> Restore:
    """Put the agent's workspace back to what it was. It is stopped for that, and started again if
    it should run; what it replaces is kept as a snapshot. With `path`, one file or folder (as
    naming writes it) is put back while the agent goes on. Raises SnapshotNotUsable,
    RestoreUnderWay, DatabaseInUse, Invalid."""
    access.require("agents:write")
    agent = snapshot.agent
    path = _checked(path)
    with transaction.atomic():
        snapshot = Snapshot.objects.select_for_update().get(pk=snapshot.pk)
        if not snapshot.usable:
            raise SnapshotNotUsable(snapshot.message)
        locked = Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
        refuse_at_work(agent, but="restores")
        if database_of(path) and locked.goal == Goal.RUNNING:
            raise DatabaseInUse(agent.name, database_of(path))
        try:
            with transaction.atomic():
                restore = Restore.objects.create(
                    agent=agent, snapshot=snapshot, path=path, requested_by=access.actor.label
                )
        except IntegrityError as error:
            raise RestoreUnderWay(agent.name) from error
        moment = f"{snapshot.taken_at:%Y-%m-%d %H:%M} UTC"
        what = shortened(path) if path else "the workspace"
        title = f"Putting {what} back to {moment} was asked for"
        tell(agent, "restore.asked", title, actor=access.actor.label)
        of_what = {"path": path[:200]} if path else {}
        _record(access, "agent.restored_to_snapshot", snapshot, restore=restore.pk, **of_what)
        request_job(restore)
    return restore


def shortened(path: str) -> str:
    """For a title: its end says the most."""
    return path if len(path) <= LONGEST_SHOWN else f"…{path[-LONGEST_SHOWN:]}"


def _checked(path: str) -> str:
    """Without slashes around it. Raises Invalid for what no path below a workspace can be."""
    clean = path.strip("/")
    names = clean.split("/")
    if path and (not clean or any(name in {"", ".", ".."} for name in names)):
        raise Invalid("path", "Write a path below the workspace, such as notes/plan.md.")
    if not clean.isprintable() or len(clean) > LONGEST_PATH:
        raise Invalid("path", "This is no path of a workspace, as snapshots tell them.")
    return clean


def delete_snapshot(access: Access, snapshot: Snapshot) -> None:
    """It is gone from the lists at once; the node removes its copies. Raises RestoreUnderWay."""
    access.require("agents:write")
    with transaction.atomic():
        locked = Snapshot.objects.select_for_update().get(pk=snapshot.pk)
        if locked.restores.under_way().exists():
            raise RestoreUnderWay(locked.agent.name)
        if locked.upgrades.under_way().exists():  # it may go back to it
            raise AgentAtWork(locked.agent.name, "upgrade")
        _record(access, "agent.snapshot_deleted", locked)
        forget(locked)


def forget(snapshot: Snapshot) -> None:
    """Also what retention does. The row stays, for the restores that speak of it."""
    snapshot.deleted_at = now()
    snapshot.save(update_fields=["deleted_at"])


def _record(access: Access, what: str, snapshot: Snapshot, **data: str) -> None:
    agent = snapshot.agent
    record(
        access.actor,
        what,
        agent.pk,
        organisation=agent.organisation_id,
        label=agent.name,
        data={"snapshot": snapshot.pk, **data},
    )
