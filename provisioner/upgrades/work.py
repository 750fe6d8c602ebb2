"""One upgrade that is being worked on: its row, the claim on it, and the node's parts."""

from dataclasses import dataclass

from controlplane.agents.models import Agent
from controlplane.jobs.claim import Claim
from controlplane.upgrades.models import Upgrade
from provisioner.backend import Backend
from provisioner.workspaces.base import Clones

RELATED = ("agent", "agent__release", "agent__organisation", "snapshot", "restore")


@dataclass(frozen=True)
class Work:
    claim: Claim
    backend: Backend
    clones: Clones
    upgrade: Upgrade

    def note(self, **columns: object) -> None:
        """On the row and on the object. Raises ClaimLost."""
        self.claim.write(**columns)
        for name, value in columns.items():
            setattr(self.upgrade, name, value)

    def agent(self) -> Agent:
        """As it is now."""
        return Agent.objects.select_related("release").get(pk=self.upgrade.agent_id)


def work_on(claim: Claim, backend: Backend) -> Work | None:
    """None on a node whose workspaces cannot be copied."""
    clones = backend.workspaces.clones
    if clones is None:
        return None
    upgrade = Upgrade.objects.select_related(*RELATED).get(pk=claim.job_id)
    return Work(claim, backend, clones, upgrade)
