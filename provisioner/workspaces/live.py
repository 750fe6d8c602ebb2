"""A live workspace, for one who puts a file into it beside its agent.

Its lock is held meanwhile: nothing unmounts, replaces, copies or destroys it, and no start that
needs it mounted comes in between.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from provisioner.workspaces.base import WorkspaceLost, WorkspaceTrouble, check_identity, troubles
from provisioner.workspaces.growing import device_of
from provisioner.workspaces.locking import locked
from provisioner.workspaces.mounts import WORKSPACE, is_mounted, run, unmount


@contextmanager
def opened(
    pool: Path, points: Path, agent_id: str, thaw: Callable[[str], object]
) -> Iterator[Path]:
    """Its `data/`. One that is not mounted is for as long as the block lasts; `thaw` lets writers
    go on whom a killed snapshot still holds. Raises WorkspaceLost, WorkspaceForeign,
    WorkspaceTrouble."""
    image, point = pool / f"{agent_id}.img", points / agent_id
    with locked(pool, agent_id):
        with troubles():
            thaw(agent_id)
        if is_mounted(point):
            yield point / "data"
            return
        with troubles():
            _mount(image, point, agent_id)
        try:
            check_identity(agent_id, point / "id")
            yield point / "data"
            run("sync", "-f", str(point))
        finally:
            unmount(point)


def _mount(image: Path, point: Path, agent_id: str) -> None:
    if not image.exists():
        raise WorkspaceLost(agent_id)
    if device_of(image) is not None:  # who still has a file open goes on writing to it
        raise WorkspaceTrouble("The workspace is still in use. Try again in a minute.")
    point.mkdir(parents=True, exist_ok=True)
    run("mount", "-o", WORKSPACE, str(image), str(point))
