"""The first workspace of a fork or of an import, from the snapshot it begins as."""

from controlplane.agents.models import Agent
from controlplane.jobs.models import JobStatus
from controlplane.portability.models import Import
from controlplane.snapshots.models import Snapshot
from provisioner import delivery
from provisioner.backend import Backend
from provisioner.workspaces.base import BeginningFailed, CloneMissing, WorkspaceComing
from runtimes.catalog import CATALOG

HOME = "/workspace/"


def needed(agent: Agent) -> bool:
    return bool(agent.origin) and agent.workspace_made_at is None


def refuse_unready(agent: Agent) -> None:
    """An import is unpacked by a job; until that is done there is nothing to begin as. Raises
    WorkspaceComing, BeginningFailed."""
    found = Import.objects.filter(becomes=agent.origin, agent=agent).first()
    if found is None or found.status == JobStatus.DONE:
        return
    if found.under_way:
        raise WorkspaceComing(found.message)
    raise BeginningFailed(found.message)


def inherit(backend: Backend, agent: Agent) -> None:
    """What a runtime's first run left in the vault belongs to what lies in the workspace. The
    agent's own token is made anew. Raises VaultUnavailable, CloneMissing."""
    if CATALOG[agent.runtime].setup is not None:
        delivery.inherit(backend.vault, _snapshot(agent).agent, agent)


def make(backend: Backend, agent: Agent) -> None:
    """Twice equals once. Raises WorkspaceTrouble and its kinds."""
    snapshot, clones = _snapshot(agent), backend.workspaces.clones
    if clones is None:
        raise CloneMissing(agent.origin)
    forget = tuple(path.removeprefix(HOME) for path in CATALOG[agent.runtime].not_forked)
    clones.sprout(snapshot.agent_id, snapshot.pk, agent.pk, forget)


def _snapshot(agent: Agent) -> Snapshot:
    """Within the organisation, whatever the row says."""
    found = Snapshot.objects.filter(
        pk=agent.origin, agent__organisation=agent.organisation_id, agent__runtime=agent.runtime
    )
    snapshot = found.select_related("agent").first()
    if snapshot is None:
        raise CloneMissing(agent.origin)
    return snapshot
