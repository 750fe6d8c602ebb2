"""Workspaces in memory, beside the fake engine."""

from datetime import datetime
from pathlib import Path

from provisioner.workspaces.base import Kept, Mounted, Pool, Usage, WorkspaceLost
from provisioner.workspaces.fake_clones import FakeClones

GIBIBYTE = 1024**3


class FakeWorkspaces:
    enforcement = "advisory"

    def __init__(self) -> None:
        self.disks: set[str] = set()
        self.mounted: set[str] = set()
        self._clones = FakeClones(self.disks)
        self.sizes: dict[str, int] = {}  # GiB
        self.used: dict[str, int] = {}  # bytes
        self.pool: Pool | None = None
        self.used_last: dict[str, datetime] = {}
        self.places: dict[str, Kept] = {}  # what a test has a scan look at

    @property
    def clones(self) -> FakeClones:
        return self._clones

    def prepare_node(self) -> None:
        return

    def ensure(self, agent_id: str, gib: int, *, made: bool) -> Mounted:
        if made and agent_id not in self.disks:
            raise WorkspaceLost(agent_id)
        self.disks.add(agent_id)
        self.mounted.add(agent_id)
        had = self.sizes.get(agent_id, gib)
        self.sizes[agent_id] = max(had, gib)
        root = Path("/nowhere") / agent_id
        return Mounted(root / "data", root / "id", "fake", grown=gib > had)

    def usage(self, agent_id: str) -> Usage | None:
        if agent_id not in self.mounted:
            return None
        return Usage(self.used.get(agent_id, 0), self.sizes[agent_id] * GIBIBYTE)

    def room(self) -> Pool | None:
        return self.pool

    def held(self, agent_id: str) -> bool:
        return agent_id in self.mounted

    def release(self, agent_id: str) -> None:
        self.mounted.discard(agent_id)

    def destroy(self, agent_id: str) -> None:
        self.disks.discard(agent_id)
        self.mounted.discard(agent_id)
        self._clones.kept.pop(agent_id, None)

    def kept(self, agent_id: str) -> Kept:
        return self.places.get(agent_id, Kept())

    def known(self) -> list[str]:
        return sorted(self.disks)

    def used_at(self, agent_id: str) -> datetime | None:
        return self.used_last.get(agent_id)
