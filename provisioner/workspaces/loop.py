"""One loop-mounted ext4 image per workspace, on a pool that can clone files by reference.

A file system of its own is a hard limit that an unprivileged agent cannot escape (project
quotas can be: see docs/adr/0003), one file to copy, and instant to clone. Measured: made in
about 20 ms, mounted in 10.

    pool/<agent>.img           the disk
    workspaces/<agent>/        mount point; below it empty root-owned stubs `id` and `data`, so that
                               the engine can start a container before we have mounted, and the
                               boot shim can refuse it (without them the engine never tries again)
"""

import os
import shutil
from pathlib import Path

from provisioner.workspaces.base import (
    AGENT_UID,
    Mounted,
    PoolFull,
    WorkspaceLost,
    WorkspaceTrouble,
    check_identity,
    identity_text,
    troubles,
)
from provisioner.workspaces.mounts import is_mounted, run, unmount

GIBIBYTE = 1024**3
RESERVE = 2 * GIBIBYTE  # of the pool, never given to a new workspace
POOL_SHARE = 0.6  # of the disk that is free when the pool is made
OPTIONS = "loop,noatime,nodev,nosuid,discard"


class LoopWorkspaces:
    enforcement = "hard"

    def __init__(self, state: Path) -> None:
        self.pool_image = state / "pool.img"
        self.pool = state / "pool"
        self.points = state / "workspaces"

    @troubles()
    def prepare_node(self) -> None:
        """A sparse XFS file, mounted: reflinks then work on whatever the host's own disk is."""
        for folder in (self.pool, self.points):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o711)
        if is_mounted(self.pool):
            return
        if not self.pool_image.exists():
            self._make_pool()
        run("mount", "-o", "loop,noatime,nodev,nosuid,noexec", str(self.pool_image), str(self.pool))

    def _make_pool(self) -> None:
        free = shutil.disk_usage(self.pool_image.parent).free
        part = self.pool_image.with_suffix(".part")
        with part.open("wb") as file:
            file.truncate(int(free * POOL_SHARE))
        part.chmod(0o600)
        run("mkfs.xfs", "-q", "-f", "-m", "reflink=1", str(part))
        part.rename(self.pool_image)

    @troubles()
    def ensure(self, agent_id: str, gib: int, *, made: bool) -> Mounted:
        image, point = self._image(agent_id), self.points / agent_id
        if not is_mounted(point):
            if not is_mounted(self.pool):
                raise WorkspaceTrouble("The pool of workspaces is not mounted on this node.")
            if not image.exists():
                if made:
                    raise WorkspaceLost(agent_id)
                self._make(agent_id, gib)
            _stubs(point)
            run("mount", "-o", OPTIONS, str(image), str(point))
        mounted = Mounted(point / "data", point / "id", "loop")
        try:
            check_identity(agent_id, mounted.identity)
        except WorkspaceTrouble:
            unmount(point)
            raise
        return mounted

    def _make(self, agent_id: str, gib: int) -> None:
        """Whole or not at all: made aside with its identity inside, then renamed into place."""
        free = shutil.disk_usage(self.pool).free
        if free < RESERVE:
            raise PoolFull(free / GIBIBYTE)
        self._clear(agent_id)
        root, part = self._unfinished(agent_id)
        _skeleton(root, agent_id)
        with part.open("wb") as file:
            file.truncate(gib * GIBIBYTE)
        part.chmod(0o600)
        options = "lazy_itable_init=1,lazy_journal_init=1,root_owner=0:0"
        run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", options, "-d", str(root), str(part))
        _sync(part)
        part.rename(self._image(agent_id))
        _sync(self.pool)
        self._clear(agent_id)

    def _unfinished(self, agent_id: str) -> tuple[Path, Path]:
        """Named after the agent, so that what a killed worker left is found."""
        return self.pool / f".{agent_id}.root", self.pool / f".{agent_id}.part"

    def _clear(self, agent_id: str) -> None:
        root, part = self._unfinished(agent_id)
        shutil.rmtree(root, ignore_errors=True)
        part.unlink(missing_ok=True)

    def held(self, agent_id: str) -> bool:
        return is_mounted(self.points / agent_id)

    def release(self, agent_id: str) -> None:
        unmount(self.points / agent_id)

    @troubles()
    def destroy(self, agent_id: str) -> None:
        point = self.points / agent_id
        unmount(point)
        self._clear(agent_id)
        self._image(agent_id).unlink(missing_ok=True)
        shutil.rmtree(point, ignore_errors=True)

    def known(self) -> list[str]:
        return [path.stem for path in self.pool.glob("agt_*.img")]

    def _image(self, agent_id: str) -> Path:
        return self.pool / f"{agent_id}.img"


def _skeleton(root: Path, agent_id: str) -> None:
    """What a new disk holds; mkfs copies it in with its owners and modes."""
    root.mkdir()
    root.chmod(0o755)
    identity, data = root / "id", root / "data"
    identity.mkdir(mode=0o755)
    text = identity / "workspace.json"
    text.write_text(identity_text(agent_id))
    text.chmod(0o444)
    data.mkdir(mode=0o700)
    os.chown(data, AGENT_UID, AGENT_UID)
    data.chmod(0o700)
    identity.chmod(0o755)


def _stubs(point: Path) -> None:
    for stub in (point / "id", point / "data"):
        if not stub.exists():
            stub.mkdir(parents=True, exist_ok=True)
            stub.chmod(0o555)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
