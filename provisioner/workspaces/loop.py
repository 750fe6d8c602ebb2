"""One loop-mounted ext4 image per workspace, on a pool that can clone files by reference.

A file system of its own is a hard limit that an unprivileged agent cannot escape (project
quotas can be: see docs/adr/0003), one file to copy, and instant to clone. Measured: made in
about 20 ms, mounted in 10.

    pool/<agent>.img           the disk
    workspaces/<agent>/        mount point; below it empty root-owned stubs `id` and `data`, so that
                               the engine can start a container before we have mounted, and the
                               boot shim can refuse it (without them the engine never tries again)
"""

import logging
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

from provisioner.workspaces.base import (
    Kept,
    Mounted,
    Pool,
    PoolFull,
    Usage,
    WorkspaceLost,
    WorkspaceTrouble,
    check_identity,
    troubles,
)
from provisioner.workspaces.clones import LoopClones
from provisioner.workspaces.files import GIBIBYTE, make_disk, room_of, sync
from provisioner.workspaces.growing import (
    device_of,
    grow_mounted,
    grow_unmounted,
    held_bytes,
    lengthen,
)
from provisioner.workspaces.locking import locked
from provisioner.workspaces.mounts import WORKSPACE, is_mounted, run, unmount

log = logging.getLogger(__name__)

POOL_SHARE = 0.6  # of the disk that is free when the pool is made


class LoopWorkspaces:
    enforcement = "hard"

    def __init__(self, state: Path) -> None:
        self.pool_image = state / "pool.img"
        self.pool = state / "pool"
        self.points = state / "workspaces"
        self.clones = LoopClones(state)

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
        # `discard`: what is deleted here leaves the host's disk too, data and room alike.
        options = "loop,noatime,nodev,nosuid,noexec,discard"
        run("mount", "-o", options, str(self.pool_image), str(self.pool))

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
        self._need_pool()
        with locked(self.pool, agent_id):
            return self._ensure(agent_id, gib, made=made)

    def _need_pool(self) -> None:
        if not is_mounted(self.pool):
            raise WorkspaceTrouble("The pool of workspaces is not mounted on this node.")

    def _ensure(self, agent_id: str, gib: int, *, made: bool) -> Mounted:
        image, point = self._image(agent_id), self.points / agent_id
        grown = made and image.exists() and self._grow(image, point, gib * GIBIBYTE)
        if not is_mounted(point):
            if not image.exists():
                if made:
                    raise WorkspaceLost(agent_id)
                self._make(agent_id, gib)
            _stubs(point)
            run("mount", "-o", WORKSPACE, str(image), str(point))
        mounted = Mounted(point / "data", point / "id", "loop", grown)
        try:
            check_identity(agent_id, mounted.identity)
        except WorkspaceTrouble:
            unmount(point)
            raise
        return mounted

    def _grow(self, image: Path, point: Path, size: int) -> bool:
        """What is missing of it. Whether it is larger now; where that cannot be done while somebody
        uses it, it goes on as it is and the next start tries again."""
        device = device_of(image)
        if held_bytes(device or image) >= size:
            return False
        lengthen(image, size)
        if device is not None and grow_mounted(device):
            return True
        if device is not None and is_mounted(point):
            try:
                run("umount", str(point))  # never lazily: who has a file open goes on writing
            except WorkspaceTrouble:
                log.warning("%s is in use and cannot be grown now", image.stem)
                return False
        return grow_unmounted(image)

    def usage(self, agent_id: str) -> Usage | None:
        try:
            seen, around = os.statvfs(self.points / agent_id), os.statvfs(self.points)
        except OSError:
            return None
        if seen.f_fsid == around.f_fsid:  # what lies below the mount point
            return None
        used = (seen.f_blocks - seen.f_bfree) * seen.f_frsize
        available = seen.f_bavail * seen.f_frsize
        return Usage(used, used + available, seen.f_files - seen.f_ffree, seen.f_files)

    def room(self) -> Pool | None:
        return room_of(self.pool, self.pool_image) if is_mounted(self.pool) else None

    def _make(self, agent_id: str, gib: int) -> None:
        """Whole or not at all: made aside with its identity inside, then renamed into place."""
        room = self.room()
        if room is not None and room.free < room.reserve:
            raise PoolFull(room.free / GIBIBYTE)
        self._clear(agent_id)
        part = self._unfinished(agent_id)
        make_disk(part, agent_id, gib)
        part.rename(self._image(agent_id))
        sync(self.pool)

    def _unfinished(self, agent_id: str) -> Path:
        """Named after the agent, so that what a killed worker left is found."""
        return self.pool / f".{agent_id}.part"

    def _clear(self, agent_id: str) -> None:
        part = self._unfinished(agent_id)
        shutil.rmtree(part.with_suffix(".root"), ignore_errors=True)
        for left in (part, self.pool / f".{agent_id}.next", self.pool / f".{agent_id}.frozen"):
            left.unlink(missing_ok=True)

    def held(self, agent_id: str) -> bool:
        return is_mounted(self.points / agent_id)

    @troubles()
    def release(self, agent_id: str) -> None:
        if self.held(agent_id):
            with locked(self.pool, agent_id):
                self.clones.thaw(agent_id)
                unmount(self.points / agent_id)

    @troubles()
    def destroy(self, agent_id: str) -> None:
        self._need_pool()  # or the disk would seem to be gone
        point = self.points / agent_id
        with locked(self.pool, agent_id):
            self.clones.thaw(agent_id)
            unmount(point)
            self._clear(agent_id)
            self._image(agent_id).unlink(missing_ok=True)
            self.clones.drop_all(agent_id)
            shutil.rmtree(point, ignore_errors=True)
        (self.pool / f".{agent_id}.lock").unlink(missing_ok=True)

    def kept(self, agent_id: str) -> Kept:
        data, disk = self.points / agent_id / "data", self._image(agent_id)
        named = [*self.pool.glob(f"*{agent_id}*"), *self.pool.glob(f"snapshots/{agent_id}/*")]
        return Kept(
            data if is_mounted(self.points / agent_id) else None,
            disk if disk.exists() else None,
            tuple(sorted(path for path in named if path != disk and path.suffix != ".lock")),
            self.pool_image if self.pool_image.exists() else None,
        )

    def known(self) -> list[str]:
        self._need_pool()
        return [path.stem for path in self.pool.glob("agt_*.img")]

    def used_at(self, agent_id: str) -> datetime | None:
        """Its kernel device writes to the image, and an unmount always does."""
        try:
            return datetime.fromtimestamp(self._image(agent_id).stat().st_mtime, UTC)
        except OSError:
            return None

    def _image(self, agent_id: str) -> Path:
        return self.pool / f"{agent_id}.img"


def _stubs(point: Path) -> None:
    for stub in (point / "id", point / "data"):
        if not stub.exists():
            stub.mkdir(parents=True, exist_ok=True)
            stub.chmod(0o555)
