"""A pass's part of a restore: the disk that is wanted takes the place of the one that is there."""

from controlplane.agents.lease import Lease
from controlplane.agents.models import Agent
from controlplane.snapshots.models import Restore
from provisioner.backend import Backend
from provisioner.workspaces.base import CloneMissing


def wanted(agent: Agent) -> bool:
    return agent.disk_wanted != agent.disk_put


def refuse_missing(backend: Backend, agent: Agent) -> None:
    """Before the agent is stopped for it. Raises CloneMissing."""
    restore, clones = _restore(agent), backend.workspaces.clones
    if clones is None or not clones.has(agent.pk, restore.snapshot_id):
        raise CloneMissing(restore.snapshot_id)


def put(backend: Backend, lease: Lease, agent: Agent) -> None:
    """The agent is stopped and its workspace let go of. Twice equals once. Raises
    WorkspaceTrouble."""
    restore, clones = _restore(agent), backend.workspaces.clones
    assert clones is not None  # noqa: S101  see refuse_missing
    clones.put_in_place(agent.pk, restore.snapshot_id, keep_as=restore.keep_as, mark=restore.pk)
    lease.write(disk_put=restore.pk, crashes=[])


def _restore(agent: Agent) -> Restore:
    """Raises CloneMissing for one that was removed meanwhile: its job takes the wish back."""
    found = Restore.objects.filter(pk=agent.disk_wanted, agent=agent).first()
    if found is None:
        raise CloneMissing(agent.disk_wanted)
    return found
