"""One restore, from claim to done: bring the copy, prove it, wish for it, see it in place.

For a whole workspace the job only prepares and watches. It is a pass over the agent, under its
lease, that stops it, puts the disk in place and starts it again (see swap). A single file or folder
is put back while the agent goes on: see put_back.
"""

import time

from django.db import transaction

from controlplane.agents.lifecycle import Goal
from controlplane.agents.models import Agent, Level
from controlplane.agents.timeline import tell
from controlplane.agents.wishes import wish
from controlplane.jobs.claim import Claim
from controlplane.keys.vault import VaultUnavailable
from controlplane.snapshots.actions import shortened
from controlplane.snapshots.models import Restore
from provisioner.backend import Backend
from provisioner.offsite.errors import OffsiteError
from provisioner.snapshots import put_back
from provisioner.snapshots.proof import prove
from provisioner.snapshots.take import PLAIN, reason_of
from provisioner.workspaces.base import Clones, WorkspaceTrouble

PATIENCE = 600.0  # seconds for stopping, putting in place; an agent's stop has a grace
LOOK = 0.2
SELDOM = 5.0  # seconds between two looks at one that is waited for beyond that
AS_IT_WAS = "The workspace is as it was."
KEPT = "What it replaced is kept as a snapshot"
STAYS = "In a folder, what came since stays"


class NotPut(WorkspaceTrouble):
    """The agent did not come to stand on it."""


TOO_LATE = (
    f"It could not be replaced within {PATIENCE / 60:.0f} minutes. Restore it again; what kept it:"
)


def run(claim: Claim, backend: Backend) -> None:
    """Raises ClaimLost."""
    related = ("agent", "agent__release", "snapshot")
    restore = Restore.objects.select_related(*related).get(pk=claim.job_id)
    clones = backend.workspaces.clones
    if clones is None:
        _fail(claim, restore, "no_snapshots_here", PLAIN)
        return
    try:
        if restore.path:
            put_back.put_back(claim, backend, clones, restore)
        elif restore.agent.disk_put != restore.pk:
            if not _is_proven(clones, restore):
                claim.write(step="checking")
                prove(backend, clones, restore.snapshot)
            claim.write(step="replacing")
            _wish(restore)
            _wait(claim, restore)
    except WorkspaceTrouble as trouble:
        _give_up(restore)
        _fail(claim, restore, reason_of(trouble), f"{trouble} {AS_IT_WAS}")
    except (OffsiteError, VaultUnavailable) as trouble:
        _fail(claim, restore, trouble.code, f"{trouble} {AS_IT_WAS}")
    except put_back.NotPutBack as why:
        _fail(claim, restore, why.reason, str(why))
    else:
        _done(claim, restore)


def _is_proven(clones: Clones, restore: Restore) -> bool:
    """It is only wished for once it is: by a worker that died, or by an upgrade that goes back."""
    wished = restore.agent.disk_wanted == restore.pk
    return wished and clones.has(restore.agent_id, restore.snapshot_id)


def _wish(restore: Restore) -> None:
    with transaction.atomic():
        agent = Agent.objects.select_for_update(no_key=True).get(pk=restore.agent_id)
        if agent.goal == Goal.DELETED:
            raise NotPut(put_back.DELETED)
        if agent.disk_wanted != restore.pk:
            agent.disk_wanted = restore.pk
            wish(agent, "disk_wanted")


def _wait(claim: Claim, restore: Restore) -> None:
    """An upgrade that goes back is waited for until the job itself is given up."""
    ends = time.monotonic() + PATIENCE
    endless = restore.upgrades.exists()
    while True:
        agent = Agent.objects.get(pk=restore.agent_id)
        if agent.disk_put == restore.pk:
            return
        if agent.goal == Goal.DELETED:
            raise NotPut(put_back.DELETED)
        if time.monotonic() < ends:
            time.sleep(LOOK)
        elif endless:
            claim.renew()  # sees a lost claim
            time.sleep(SELDOM)
        else:
            raise NotPut(f"{TOO_LATE} {agent.message}")


def _give_up(restore: Restore) -> None:
    """The wish is taken back, so that the agent goes on with the disk that it has. Not that of an
    upgrade that goes back: the version from before must never meet what the new one wrote."""
    if restore.upgrades.exists():
        return
    with transaction.atomic():
        agent = Agent.objects.select_for_update(no_key=True).get(pk=restore.agent_id)
        if agent.disk_wanted == restore.pk != agent.disk_put:
            agent.disk_wanted = _owed(agent)
            wish(agent, "disk_wanted")


def _owed(agent: Agent) -> str:
    """What it should stand on without the last wish: the disk of an upgrade that went back and
    could not be put in place so far, or the one that it has."""
    wanted = agent.restores.filter(upgrades__isnull=False).order_by("-created_at")
    if agent.disk_put:
        put = Restore.objects.filter(pk=agent.disk_put)
        wanted = wanted.filter(created_at__gt=put.values("created_at")[:1])
    return wanted.values_list("pk", flat=True).first() or agent.disk_put


def _done(claim: Claim, restore: Restore) -> None:
    agent = restore.agent
    with transaction.atomic():
        put_back.note_kept(restore)
        claim.finish(step="")
        moment = f"{restore.snapshot.taken_at:%Y-%m-%d %H:%M} UTC"
        title, detail = f"The workspace is as it was at {moment}", KEPT
        if restore.path:
            title = f"{shortened(restore.path)} was put back to {moment}"
            detail = f"{KEPT}. {STAYS}"
        tell(agent, "restore.done", title, detail=detail, level=Level.OK)


def _fail(claim: Claim, restore: Restore, reason: str, message: str) -> None:
    with transaction.atomic():
        claim.fail(reason, message, step="")
        what = shortened(restore.path) if restore.path else "The workspace"
        title = f"{what} could not be put back"
        tell(restore.agent, "restore.failed", title, detail=message, level=Level.WARN)
