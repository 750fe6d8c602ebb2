"""The snapshot from before an upgrade: its copy and its list of files are on the node before
anything is switched, and it goes off-site once all is over."""

from contextlib import suppress

from controlplane.snapshots import actions
from controlplane.snapshots.models import Origin
from provisioner.snapshots import take
from provisioner.snapshots.ship import ship_later
from provisioner.upgrades.work import Work
from provisioner.workspaces.base import WorkspaceTrouble


def keep(work: Work) -> None:
    """Raises WorkspaceTrouble."""
    upgrade, origin = work.upgrade, Origin.BEFORE_UPGRADE
    whose = (upgrade.agent, origin, upgrade.requested_by, upgrade.snapshot)
    take.for_job(work.note, work.clones, *whose)


def forget(work: Work) -> None:
    """One that nothing was switched after: the agent goes on, so it is not what it went back to.
    While somebody takes it along it stays, and goes as others that Roost took. Raises ClaimLost."""
    snapshot = work.upgrade.snapshot
    if snapshot is None:
        return
    work.note(snapshot=None)
    if not snapshot.exports.under_way().exists():
        actions.forget(snapshot)
        work.clones.drop(snapshot.agent_id, snapshot.pk)


def forget_compared(work: Work) -> None:
    """What a worker that died had taken to compare: no row speaks of it, so nobody else would."""
    with suppress(WorkspaceTrouble):
        work.clones.drop(work.upgrade.agent_id, work.upgrade.pk)


def ship(work: Work) -> None:
    """As an ordinary snapshot, in its own time. Call inside the transaction of the outcome."""
    if work.upgrade.snapshot is not None:
        ship_later(work.upgrade.snapshot)
