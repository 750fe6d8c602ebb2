"""The node's rounds over snapshots: take what is due, let go of what is kept no longer."""

import logging
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils.timezone import now

from controlplane.agents.lifecycle import Goal
from controlplane.agents.models import Agent
from controlplane.audit.actor import SYSTEM
from controlplane.jobs.models import JobStatus
from controlplane.keys.vault import VaultUnavailable
from controlplane.snapshots import actions, plans
from controlplane.snapshots.models import Origin, Snapshot, SnapshotPlan
from provisioner import memory
from provisioner.backend import Backend
from provisioner.offsite import place
from provisioner.offsite.errors import OffsiteError

log = logging.getLogger(__name__)

AT_ONCE = 50
BY = "schedule"


def plan_all() -> None:
    """Every agent with a workspace has a plan, and every plan its next time."""
    mine = Agent.objects.on(settings.ROOST_NODE).exclude(goal=Goal.DELETED)
    bare = mine.filter(snapshot_plan=None).exclude(workspace_made_at=None)
    made = [plans.default_plan(agent) for agent in bare[:AT_ONCE]]
    SnapshotPlan.objects.bulk_create(made, ignore_conflicts=True)
    rows = SnapshotPlan.objects.filter(agent__node=settings.ROOST_NODE, next_at=None, on=True)
    for plan in rows[:AT_ONCE]:
        # Of two writers, the people's: theirs sets it back to null.
        fresh = SnapshotPlan.objects.filter(pk=plan.pk, cron=plan.cron, timezone=plan.timezone)
        fresh.update(next_at=plans.next_after(plan, now()))


def take_due() -> int:
    """One for each plan whose time has come, however long ago that was; returns how many."""
    moment, taken = now(), 0
    rows = SnapshotPlan.objects.filter(agent__node=settings.ROOST_NODE, on=True)
    for pk in list(rows.filter(next_at__lte=moment).values_list("pk", flat=True)[:AT_ONCE]):
        with transaction.atomic():
            found = SnapshotPlan.objects.select_for_update(skip_locked=True, of=("self",))
            plan = found.filter(pk=pk, on=True, next_at__lte=moment).select_related("agent").first()
            if plan is None:
                continue
            plan.next_at = plans.next_after(plan, moment)
            plan.save(update_fields=["next_at"])
            taken += _take(plan)
    return taken


def _take(plan: SnapshotPlan) -> bool:
    agent = Agent.objects.select_related("release").get(pk=plan.agent_id)
    under_way = agent.snapshots.under_way().exists()
    if agent.goal == Goal.DELETED or agent.workspace_made_at is None or under_way:
        return False
    actions.add_snapshot(agent, Origin.SCHEDULED, BY)
    return True


def expire() -> int:
    """What the plans keep no longer is forgotten; returns how many. None while the database may not
    know the newest, which the others are counted from."""
    gone = 0
    if memory.older_since() is not None:
        return 0
    # A deleted agent keeps what it has until it is gone for good.
    mine = SnapshotPlan.objects.filter(agent__node=settings.ROOST_NODE)
    for plan in mine.exclude(agent__goal=Goal.DELETED).iterator():
        rows = Snapshot.objects.kept().filter(agent=plan.agent_id)
        for snapshot in plans.expired(plan, rows.exclude(manifest_sha256=""), now()):
            if not _used(snapshot):
                actions.forget(snapshot)
                gone += 1
    return gone + _forget_failed()


def _forget_failed() -> int:
    """Those that never were any good: nothing can be done with what there is of them."""
    old = now() - timedelta(days=plans.PLATFORM_DAYS)
    rows = Snapshot.objects.kept().filter(agent__node=settings.ROOST_NODE)
    failed = rows.filter(status=JobStatus.FAILED, manifest_sha256="", finished_at__lt=old)
    for snapshot in failed:
        actions.forget(snapshot)
    return len(failed)


def _used(snapshot: Snapshot) -> bool:
    return snapshot.restores.under_way().exists() or snapshot.exports.under_way().exists()


def remove_forgotten(backend: Backend) -> int:
    """Copies of what was deleted, on the node and off-site; returns how many are gone. With the
    store or the vault away it is tried again; while the database is older than the node, later."""
    if memory.older_since() is not None:
        return 0
    rows = Snapshot.objects.filter(agent__node=settings.ROOST_NODE, removed_at=None)
    unborn = Agent.objects.filter(workspace_made_at=None).exclude(goal=Goal.DELETED)
    done = 0
    for snapshot in rows.exclude(deleted_at=None).select_related("agent")[:AT_ONCE]:
        if snapshot.under_way and not _called_off(snapshot):
            continue  # a worker is at it; a later round finds it ended
        if unborn.filter(origin=snapshot.pk).exists():
            continue  # a fork begins as it, and would wait for ever
        try:
            _remove(backend, snapshot)
        except (OffsiteError, VaultUnavailable) as error:
            log.warning("%s is not removed yet: %s", snapshot.pk, error)
            continue
        done += 1
    return done


def _called_off(snapshot: Snapshot) -> bool:
    """Nobody takes it up any more, or it would come back after its removal."""
    idle = Snapshot.objects.unclaimed(now()).filter(pk=snapshot.pk)
    return idle.update(status=JobStatus.FAILED, reason="deleted", finished_at=now()) > 0


def _remove(backend: Backend, snapshot: Snapshot) -> None:
    if (clones := backend.workspaces.clones) is not None:
        clones.drop(snapshot.agent_id, snapshot.pk)
    if snapshot.offsite_id and place.why_not() is None:
        agent = snapshot.agent
        store = place.repository(backend.vault, agent.organisation_id, agent.pk)
        store.forget([snapshot.offsite_id])
    Snapshot.objects.filter(pk=snapshot.pk).update(
        removed_at=now(), on_node=False, verified_at=None
    )


class StillCopying(Exception):
    """A worker is at a snapshot of it, which would come back after its removal."""


def keep_last(backend: Backend, agent: Agent) -> None:
    """A deleted agent's workspace as it was left, off-site too where there is a store: kept until
    it is gone for good. Its job waits for nobody, and nobody for it. Call inside the transaction
    that writes it deleted."""
    if backend.workspaces.clones is not None and agent.workspace_made_at is not None:
        actions.add_snapshot(agent, Origin.BEFORE_DELETE, SYSTEM.label)


def remove_agent(agent: Agent) -> int:
    """Everything off-site of an agent that is gone for good, also what no row speaks of; returns
    how many objects there were. Raises OffsiteError, StillCopying."""
    if not all([_called_off(snapshot) for snapshot in agent.snapshots.under_way()]):
        raise StillCopying(agent.pk)
    if not settings.S3_ENDPOINT_URL:
        return 0
    return place.forget_agent(agent.organisation_id, agent.pk)
