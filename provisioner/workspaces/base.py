"""What a workspace driver must do, and what it may say.

A workspace is a disk with two directories: `data/`, the agent's /workspace, and `id/`, its
identity, which the agent can read but not change. They travel together, so a disk always
says whose it is.

Errors:

* WorkspaceLost     it was made once and is not there: never make a blank one in its place
* WorkspaceForeign  it is somebody else's: never mount it
* PoolFull          no room for a new one or for a copy
* CloneMissing      a copy is not on this node
* WorkspaceComing   what it begins as is still being made ready
* BeginningFailed   what it should begin as cannot be used: it never will begin
* WorkspaceTrouble  anything else: a tool failed; the message says which
"""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

FORMAT = 1
AGENT_UID = 10001


class WorkspaceTrouble(Exception):
    """A tool failed or the node lacks something."""


class WorkspaceLost(WorkspaceTrouble):
    def __init__(self, agent_id: str) -> None:
        super().__init__(
            f"The workspace of {agent_id} is not on this node. It is not replaced by a blank one. "
            "An operator can bring it back from a snapshot or from another node."
        )


class WorkspaceForeign(WorkspaceTrouble):
    def __init__(self, agent_id: str, found: str) -> None:
        super().__init__(
            f"The disk in the place of {agent_id}'s workspace belongs to {found}. "
            "It was not mounted."
        )


class PoolFull(WorkspaceTrouble):
    """Sizes in GiB."""

    def __init__(self, free_gib: float, needs_gib: float = 0) -> None:
        why = (
            f"This needs {needs_gib:.1f} GiB for a while; the node has {free_gib:.1f} GiB left, "
            "of which some is in reserve."
            if needs_gib
            else f"The node has {free_gib:.1f} GiB left and keeps them in reserve."
        )
        super().__init__(f"{why} An operator must make room.")


class CloneMissing(WorkspaceTrouble):
    def __init__(self, clone_id: str) -> None:
        super().__init__(
            f"The copy {clone_id} is not on this node. "
            "Choose another snapshot, or ask your operator."
        )


class WorkspaceComing(WorkspaceTrouble):
    def __init__(self, why: str = "") -> None:
        super().__init__(why or "What was imported is being unpacked and checked.")


class BeginningFailed(WorkspaceTrouble):
    def __init__(self, why: str) -> None:
        super().__init__(f"What it should begin with could not be used. {why}")


@dataclass(frozen=True)
class Mounted:
    """Where a mounted workspace is on the node. `kind` is loop, plain or fake."""

    data: Path
    identity: Path
    kind: str
    grown: bool = field(default=False, compare=False)  # by this call, to a size it did not have


@dataclass(frozen=True)
class Usage:
    """How full a workspace is, in bytes and in files. `total` is what its owner can fill: df's
    Used and Available together. Without a file system of its own, files are not counted: 0 of 0."""

    used: int
    total: int
    inodes_used: int = 0
    inodes_total: int = 0

    @property
    def share(self) -> float:
        """Of bytes or of files, whichever is worse; above 1 only where nothing enforces it."""
        return max(self.bytes_share, self.inodes_share)

    @property
    def bytes_share(self) -> float:
        return self.used / self.total if self.total else 0.0

    @property
    def inodes_share(self) -> float:
        return self.inodes_used / self.inodes_total if self.inodes_total else 0.0


@dataclass(frozen=True)
class Pool:
    """The disk that all workspaces lie on, in bytes. Below `reserve` no new one is made."""

    total: int
    free: int
    reserve: int


@dataclass(frozen=True)
class Kept:
    """All that a node keeps of one workspace, for a scan to look at."""

    data: Path | None = None  # the agent's files, where they can be seen now
    disk: Path | None = None  # the raw disk below them
    copies: tuple[Path, ...] = ()  # snapshots, clones, unfinished disks
    pool: Path | None = None  # the disk that all disks lie on


@contextmanager
def troubles() -> Iterator[None]:
    """A full or failing disk of the node is trouble like any other, with the system's own words."""
    try:
        yield
    except OSError as error:
        raise WorkspaceTrouble(f"The node's own disk failed: {error}.") from error


class Clones(Protocol):
    """Copies of workspaces as they were at one moment, on this node: see workspaces.clones."""

    def take(self, agent_id: str, clone_id: str) -> float:
        """The workspace as it is now; twice equals once. Returns for how many seconds the agent's
        writes were held. Raises WorkspaceLost, PoolFull."""

    def thaw_forgotten(self) -> list[str]:
        """Let writers go on whose snapshot died while it held them; returns whose."""

    def opened(self, agent_id: str, clone_id: str) -> AbstractContextManager[Path]:
        """Its `data/` and `id/`, to read. Raises CloneMissing."""

    def live(self, agent_id: str) -> AbstractContextManager[Path]:
        """The `data/` of the workspace itself, to put files into while nothing else is done to it.
        Raises WorkspaceLost."""

    def manifest(self, agent_id: str, clone_id: str) -> Path:
        """Where the list of its files is kept; it goes with the copy."""

    def filled(
        self, agent_id: str, clone_id: str, gib: int, *, needs: int = 0
    ) -> AbstractContextManager[Path]:
        """An empty disk to write `data/` into; it is the clone once the block ends well. Files of
        `needs` bytes may be written at first: those with holes give room back. Raises PoolFull."""

    def scratch(self, name: str, gib: int, *, needs: int = 0) -> AbstractContextManager[Path]:
        """An empty disk to write `data/` into, to look at, and to forget. Raises PoolFull."""

    def scratches(self) -> list[str]:
        """The names of scratch disks that are there, also of those whose maker was killed."""

    def forget_scratch(self, name: str) -> None:
        """Of one whose maker is gone. Absent counts as forgotten."""

    def has(self, agent_id: str, clone_id: str) -> bool: ...
    def known(self, agent_id: str) -> list[str]: ...

    def owners(self) -> list[str]:
        """The agents of whose workspaces there are copies, whether or not these are there."""

    def drop(self, agent_id: str, clone_id: str) -> None:
        """Absent counts as dropped."""

    def put_in_place(self, agent_id: str, clone_id: str, *, keep_as: str, mark: str) -> None:
        """The clone becomes the workspace, which must not be mounted; what was there is kept as
        another clone. Twice equals once. Raises CloneMissing, PoolFull."""

    def sprout(self, agent_id: str, clone_id: str, new_agent: str, forget: tuple[str, ...]) -> None:
        """A workspace for another agent, with an identity of its own, without the paths of
        `forget`. Twice equals once. Raises CloneMissing, PoolFull."""


class WorkspaceDriver(Protocol):
    enforcement: str  # hard, advisory

    @property
    def clones(self) -> Clones | None:
        """None where workspaces cannot be copied by reference."""

    def prepare_node(self) -> None:
        """Make or mount the pool. Called at the start of the node; twice equals once."""

    def ensure(self, agent_id: str, gib: int, *, made: bool) -> Mounted:
        """Mount it; make it first unless it was `made` before (then it must be there). One that is
        smaller than `gib` is grown where that can be done now; none is ever made smaller."""

    def usage(self, agent_id: str) -> Usage | None:
        """How full it is; None where that cannot be told now, such as of one not mounted."""

    def room(self) -> Pool | None:
        """None where workspaces have no disk of their own."""

    def held(self, agent_id: str) -> bool:
        """Whether it is mounted now."""

    def release(self, agent_id: str) -> None:
        """Unmount it; the disk stays."""

    def destroy(self, agent_id: str) -> None:
        """The disk is gone for good. Absent counts as destroyed."""

    def kept(self, agent_id: str) -> Kept:
        """Where it lies; nothing is mounted for it."""

    def known(self) -> list[str]:
        """The agents whose disks are on this node, mounted or not. Raises WorkspaceTrouble where
        these cannot be seen."""

    def used_at(self, agent_id: str) -> datetime | None:
        """When something was last written to it; None where that cannot be told."""


def identity_text(agent_id: str) -> str:
    return json.dumps({"agent": agent_id, "workspace": agent_id, "format": FORMAT}) + "\n"


def check_identity(agent_id: str, identity: Path) -> None:
    """Raises WorkspaceForeign, WorkspaceTrouble."""
    try:
        found = json.loads((identity / "workspace.json").read_text())["workspace"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceTrouble(f"The identity of {agent_id}'s workspace is unreadable.") from error
    if found != agent_id:
        raise WorkspaceForeign(agent_id, str(found))
