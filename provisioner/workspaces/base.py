"""What a workspace driver must do, and what it may say.

A workspace is a disk with two directories: `data/`, the agent's /workspace, and `id/`, its
identity, which the agent can read but not change. They travel together, so a disk always
says whose it is.

Errors:

* WorkspaceLost     it was made once and is not there: never make a blank one in its place
* WorkspaceForeign  it is somebody else's: never mount it
* PoolFull          no room for a new one
* WorkspaceTrouble  anything else: a tool failed; the message says which
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
    def __init__(self, free_gib: float) -> None:
        super().__init__(
            f"The node has {free_gib:.1f} GiB left and keeps them in reserve. "
            "An operator must make room."
        )


@dataclass(frozen=True)
class Mounted:
    """Where a mounted workspace is on the node. `kind` is loop, plain or fake."""

    data: Path
    identity: Path
    kind: str


@contextmanager
def troubles() -> Iterator[None]:
    """A full or failing disk of the node is trouble like any other, with the system's own words."""
    try:
        yield
    except OSError as error:
        raise WorkspaceTrouble(f"The node's own disk failed: {error}.") from error


class WorkspaceDriver(Protocol):
    enforcement: str  # hard, advisory

    def prepare_node(self) -> None:
        """Make or mount the pool. Called at the start of the node; twice equals once."""

    def ensure(self, agent_id: str, gib: int, *, made: bool) -> Mounted:
        """Mount it; make it first unless it was `made` before (then it must be there)."""

    def held(self, agent_id: str) -> bool:
        """Whether it is mounted now."""

    def release(self, agent_id: str) -> None:
        """Unmount it; the disk stays."""

    def destroy(self, agent_id: str) -> None:
        """The disk is gone for good. Absent counts as destroyed."""

    def known(self) -> list[str]:
        """The agents whose disks are on this node, mounted or not."""


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
