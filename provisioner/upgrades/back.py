"""Undoing an upgrade: the release from before on the workspace from before, in one wish. What the
new version made of the workspace is kept as a snapshot, as by every restore."""

import time
from datetime import timedelta

from django.db import transaction
from django.utils.timezone import now

from controlplane.agents.lifecycle import Goal
from controlplane.jobs.models import JobStatus
from controlplane.keys.vault import VaultUnavailable
from controlplane.snapshots.models import Restore
from controlplane.upgrades.moving import ChangedMeanwhile, turn_back
from provisioner.offsite.errors import OffsiteError
from provisioner.snapshots import proof
from provisioner.snapshots import restore as restoring
from provisioner.upgrades import health
from provisioner.upgrades.errors import NotBack, NotGood, NotJudged
from provisioner.upgrades.work import Work
from provisioner.workspaces.base import WorkspaceTrouble

LOOK = 0.1  # seconds
TOLD_S = 30
STILL = "It is tried further. It starts only on the workspace from before."


def roll_back(work: Work, why: NotGood) -> None:
    """A worker that died in it is followed by another that goes on. Raises NotBack,
    ChangedMeanwhile."""
    upgrade = work.upgrade
    if not upgrade.reason:
        work.note(reason=why.reason, message=str(why)[:500], step="rolling_back")
    if upgrade.release_back is None:
        _prove(work)
        with transaction.atomic():
            made, restore = turn_back(upgrade, upgrade.message)
            work.note(release_back=made.number, restore=restore, step="restoring")
    _until_put(work)
    _until_running(work)
    _until_told(work)


def _prove(work: Work) -> None:
    """Before anything is stopped for it."""
    snapshot = work.upgrade.snapshot
    if snapshot is None:
        if work.upgrade.agent.workspace_made_at is not None and work.upgrade.was_up:
            raise NotBack("snapshot_gone", "The snapshot from before it is gone.")
        return
    try:
        proof.prove(work.backend, work.clones, snapshot)
    except (WorkspaceTrouble, OffsiteError, VaultUnavailable) as error:
        raise NotBack("snapshot_unusable", str(error)) from error


def _until_put(work: Work) -> None:
    """Its own job sees to the rest of the restore: see provisioner.snapshots.restore."""
    restore = work.upgrade.restore
    if restore is None:
        return
    ends = now() + timedelta(seconds=restoring.PATIENCE)
    while (agent := work.agent()).disk_put != restore.pk:
        if agent.goal == Goal.DELETED:
            raise ChangedMeanwhile(f"{agent.name} was deleted meanwhile.")
        row = Restore.objects.get(pk=restore.pk)
        if row.status == JobStatus.FAILED:
            raise NotBack("workspace_not_put_back", row.message)
        if now() > ends:
            said = f"{agent.message or 'It took too long.'} {STILL}"
            raise NotBack("workspace_not_put_back", said)
        time.sleep(LOOK)


def _until_told(work: Work) -> None:
    """Its restore says that it is done, so that the next job is not refused for it. All is back by
    then, so nothing is made of one that takes its time."""
    ends = now() + timedelta(seconds=TOLD_S)
    rows = Restore.objects.under_way().filter(pk=work.upgrade.restore_id)
    while now() < ends and rows.exists():
        time.sleep(LOOK)


def _until_running(work: Work) -> None:
    upgrade = work.upgrade
    if not upgrade.was_up:
        return  # it did not run before either, and is as it was
    work.note(step="returning")
    try:
        health.until_running(upgrade.agent_id, upgrade.from_image, now())
    except ChangedMeanwhile:
        return  # it is back; what people want of it now is theirs
    except (NotGood, NotJudged) as why:
        raise NotBack(why.reason, str(why)) from why
