"""Copies of workspaces in memory, beside the fake workspaces."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from provisioner.workspaces.base import AGENT_UID, CloneMissing, WorkspaceLost


class FakeClones:
    """Each is a folder below `root`, where a test gives one; else only its name is known."""

    def __init__(self, disks: set[str]) -> None:
        self.disks = disks
        self.kept: dict[str, list[str]] = {}
        self.put: list[tuple[str, str, str, str]] = []  # agent, clone, kept as, mark
        self.root: Path | None = None

    def take(self, agent_id: str, clone_id: str) -> float:
        if agent_id not in self.disks:
            raise WorkspaceLost(agent_id)
        self.kept.setdefault(agent_id, []).append(clone_id)
        return 0.01

    def thaw_forgotten(self) -> list[str]:
        return []

    @contextmanager
    def opened(self, agent_id: str, clone_id: str) -> Iterator[Path]:
        if self.root is None or not self.has(agent_id, clone_id):
            raise CloneMissing(clone_id)
        yield self.root / clone_id

    @contextmanager
    def live(self, agent_id: str) -> Iterator[Path]:
        if self.root is None or agent_id not in self.disks:
            raise WorkspaceLost(agent_id)
        yield self.root / agent_id / "data"

    def manifest(self, agent_id: str, clone_id: str) -> Path:
        assert self.root is not None  # noqa: S101
        return self.root / f"{clone_id}.manifest"

    @contextmanager
    def filled(self, agent_id: str, clone_id: str, gib: int, *, needs: int = 0) -> Iterator[Path]:
        assert self.root is not None  # noqa: S101
        folder = self.root / clone_id
        (folder / "data").mkdir(parents=True)
        if os.geteuid() == 0:
            os.chown(folder / "data", AGENT_UID, AGENT_UID)
        try:
            yield folder
        except BaseException:
            shutil.rmtree(folder)
            raise
        self.kept.setdefault(agent_id, []).append(clone_id)

    @contextmanager
    def scratch(self, name: str, gib: int, *, needs: int = 0) -> Iterator[Path]:
        assert self.root is not None  # noqa: S101
        folder = self.root / f"{name}.scratch"
        (folder / "data").mkdir(parents=True)
        yield folder
        shutil.rmtree(folder)

    def scratches(self) -> list[str]:
        return sorted(path.stem for path in self.root.glob("*.scratch")) if self.root else []

    def forget_scratch(self, name: str) -> None:
        if self.root is not None:
            shutil.rmtree(self.root / f"{name}.scratch", ignore_errors=True)

    def has(self, agent_id: str, clone_id: str) -> bool:
        return clone_id in self.kept.get(agent_id, [])

    def known(self, agent_id: str) -> list[str]:
        return sorted(self.kept.get(agent_id, []))

    def owners(self) -> list[str]:
        return sorted(agent for agent, kept in self.kept.items() if kept)

    def drop(self, agent_id: str, clone_id: str) -> None:
        if self.has(agent_id, clone_id):
            self.kept[agent_id].remove(clone_id)

    def put_in_place(self, agent_id: str, clone_id: str, *, keep_as: str, mark: str) -> None:
        if not self.has(agent_id, clone_id):
            raise CloneMissing(clone_id)
        self.put.append((agent_id, clone_id, keep_as, mark))
        self.kept[agent_id].append(keep_as)

    def sprout(self, agent_id: str, clone_id: str, new_agent: str, forget: tuple[str, ...]) -> None:
        if not self.has(agent_id, clone_id):
            raise CloneMissing(clone_id)
        self.disks.add(new_agent)
