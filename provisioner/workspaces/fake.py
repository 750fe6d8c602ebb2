"""Workspaces in memory, beside the fake engine."""

from pathlib import Path

from provisioner.workspaces.base import Mounted, WorkspaceLost


class FakeWorkspaces:
    enforcement = "advisory"

    def __init__(self) -> None:
        self.disks: set[str] = set()
        self.mounted: set[str] = set()

    def prepare_node(self) -> None:
        return

    def ensure(self, agent_id: str, gib: int, *, made: bool) -> Mounted:
        if made and agent_id not in self.disks:
            raise WorkspaceLost(agent_id)
        self.disks.add(agent_id)
        self.mounted.add(agent_id)
        root = Path("/nowhere") / agent_id
        return Mounted(root / "data", root / "id", "fake")

    def held(self, agent_id: str) -> bool:
        return agent_id in self.mounted

    def release(self, agent_id: str) -> None:
        self.mounted.discard(agent_id)

    def destroy(self, agent_id: str) -> None:
        self.disks.discard(agent_id)
        self.mounted.discard(agent_id)

    def known(self) -> list[str]:
        return sorted(self.disks)
