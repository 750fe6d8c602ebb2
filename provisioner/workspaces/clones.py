"""Copies by reference of loop workspaces: what snapshots, restores and forks are made of.

    pool/snapshots/<agent>/<clone>.img     a disk as it was at one moment, never changed again
    pool/.<agent>.next                     the disk that is about to take the place of another
    pool/.<agent>.frozen                   written before writers are held, gone when they go on

A disk that took another's place says for which wish, in an attribute of its file.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from provisioner.workspaces import live, reflink
from provisioner.workspaces.base import (
    CloneMissing,
    PoolFull,
    WorkspaceLost,
    WorkspaceTrouble,
    identity_text,
    troubles,
)
from provisioner.workspaces.files import GIBIBYTE, make_disk, room_of, roomy, shrink_disk, sync
from provisioner.workspaces.locking import locked, locked_if_free
from provisioner.workspaces.looks import Looks
from provisioner.workspaces.mounts import is_mounted, run

MARK = "user.roost.mark"


class LoopClones:
    def __init__(self, state: Path) -> None:
        self.pool_image = state / "pool.img"
        self.pool = state / "pool"
        self.points = state / "workspaces"
        self.looks = Looks(state / "clones")

    # --- taking and keeping
    @troubles()
    def take(self, agent_id: str, clone_id: str) -> float:
        """The workspace as it is now; twice equals once. Returns the seconds for which the agent's
        writes were held: 0 for one that is not mounted. Raises WorkspaceLost, PoolFull."""
        with locked(self.pool, agent_id):
            final = self._clone(agent_id, clone_id)
            if final.exists():
                return 0.0
            self._refuse_full()
            part = self._part(final)
            held = self._copy(agent_id, part)
            if held is None:
                # Left by a host that lost its power: its journal is replayed in the copy alone.
                _repair(part)
            part.rename(final)
            sync(final.parent)
            return held or 0.0

    def _copy(self, agent_id: str, part: Path) -> float | None:
        image, point = self.pool / f"{agent_id}.img", self.points / agent_id
        if not image.exists():
            raise WorkspaceLost(agent_id)
        if not is_mounted(point):
            reflink.clone(image, part)
            return None
        run("sync", "-f", str(point))  # most of what there is to write, before anybody waits
        frozen = self.pool / f".{agent_id}.frozen"
        frozen.touch()
        began = time.monotonic()
        try:
            reflink.freeze(point)
            reflink.clone(image, part)
        finally:
            reflink.thaw(point)
            took = time.monotonic() - began
            frozen.unlink(missing_ok=True)
        return took

    @troubles()
    def thaw_forgotten(self) -> list[str]:
        """Let writers go on whose snapshot died while it held them; returns whose."""
        found = []
        for frozen in self.pool.glob(".agt_*.frozen"):
            agent_id = frozen.name.removeprefix(".").removesuffix(".frozen")
            with locked_if_free(self.pool, agent_id) as free:
                if free and self.thaw(agent_id):
                    found.append(agent_id)
        return found

    def thaw(self, agent_id: str) -> bool:
        """Let one's writers go on, by who holds its lock; False where nobody held them."""
        frozen = self.pool / f".{agent_id}.frozen"
        if not frozen.exists():
            return False
        reflink.thaw(self.points / agent_id)
        frozen.unlink(missing_ok=True)
        return True

    @contextmanager
    def opened(self, agent_id: str, clone_id: str) -> Iterator[Path]:
        """Its `data/` and `id/`, to read. Raises CloneMissing."""
        image = self._clone(agent_id, clone_id)
        if not image.exists():
            raise CloneMissing(clone_id)
        with self.looks.reading(image, clone_id) as root:
            yield root

    def live(self, agent_id: str) -> AbstractContextManager[Path]:
        """The workspace's own `data/`, to write to: see workspaces.live."""
        return live.opened(self.pool, self.points, agent_id, self.thaw)

    def manifest(self, agent_id: str, clone_id: str) -> Path:
        """Where the list of its files is kept; it goes with the copy."""
        return self._clone(agent_id, clone_id).with_suffix(".manifest")

    def has(self, agent_id: str, clone_id: str) -> bool:
        return self._clone(agent_id, clone_id).exists()

    def known(self, agent_id: str) -> list[str]:
        return sorted(path.stem for path in self._folder(agent_id).glob("*.img"))

    def owners(self) -> list[str]:
        folders = (self.pool / "snapshots").glob("agt_*")
        return sorted(path.name for path in folders if path.is_dir())

    @troubles()
    def drop(self, agent_id: str, clone_id: str) -> None:
        """Absent counts as dropped."""
        self.looks.end_all(clone_id)
        self.looks.end(clone_id)  # of a worker that was killed while it filled it
        image = self._clone(agent_id, clone_id)
        for path in (image, self._part(image), self.manifest(agent_id, clone_id)):
            path.unlink(missing_ok=True)

    @troubles()
    def drop_all(self, agent_id: str) -> None:
        for clone_id in self.known(agent_id):
            self.drop(agent_id, clone_id)
        shutil.rmtree(self._folder(agent_id), ignore_errors=True)

    # --- making one from what was brought from elsewhere
    @contextmanager
    def filled(self, agent_id: str, clone_id: str, gib: int, *, needs: int = 0) -> Iterator[Path]:
        """An empty disk to write `data/` into; it is the clone once the block ends well. Files of
        `needs` bytes may be written at first, more than it has room for once their holes are
        holes again."""
        final = self._clone(agent_id, clone_id)
        part, size = self._part(final), roomy(gib, needs)
        with self._fresh(part, agent_id, clone_id, size, needs) as root:
            yield root
            run("sync", "-f", str(root))
        with troubles():
            if size > gib:
                self._shrink(part, gib)
            sync(part)
            part.rename(final)
            sync(final.parent)

    @contextmanager
    def scratch(self, name: str, gib: int, *, needs: int = 0) -> Iterator[Path]:
        """An empty disk to write `data/` into, to look at, and to forget."""
        part = self._part(self._clone("scratch", name))
        try:
            size = roomy(gib, needs)
            with self._fresh(part, "scratch", f"{name}.scratch", size, needs) as root:
                yield root
        finally:
            part.unlink(missing_ok=True)

    def scratches(self) -> list[str]:
        found = [*self._folder("scratch").glob("*.part"), *self._folder("scratch").glob("*.root")]
        return sorted({path.stem for path in found})

    @troubles()
    def forget_scratch(self, name: str) -> None:
        """Of one whose maker is gone. Absent counts as forgotten."""
        self.looks.end(f"{name}.scratch")
        part = self._part(self._clone("scratch", name))
        shutil.rmtree(part.with_suffix(".root"), ignore_errors=True)

    @contextmanager
    def _fresh(self, part: Path, owner: str, look: str, gib: int, needs: int) -> Iterator[Path]:
        """Made, mounted, and gone again if the block does not end well."""
        with troubles():
            self.looks.end(look)
            self._refuse_full(needs)
            make_disk(part, owner, gib)
        try:
            with self.looks.filling(part, look) as root:
                yield root
        except BaseException:
            part.unlink(missing_ok=True)
            raise

    # --- taking a workspace's place
    def mark(self, agent_id: str) -> str:
        """For which wish this disk took its place; "" for the one it was born with."""
        try:
            return os.getxattr(self.pool / f"{agent_id}.img", MARK).decode()
        except OSError:
            return ""

    @troubles()
    def put_in_place(self, agent_id: str, clone_id: str, *, keep_as: str, mark: str) -> None:
        """The clone becomes the workspace, which must not be mounted; what was there is kept as
        another clone. The old or the new one is there at every moment; twice equals once.
        Raises CloneMissing, WorkspaceLost, PoolFull."""
        image, point = self.pool / f"{agent_id}.img", self.points / agent_id
        with locked(self.pool, agent_id):
            if self.mark(agent_id) == mark:
                return
            if is_mounted(point):
                raise WorkspaceTrouble("The workspace is still in use.")
            self._refuse_full()
            kept = self._clone(agent_id, keep_as)
            if image.exists() and not kept.exists():
                part = self._part(kept)
                reflink.clone(image, part)
                _repair(part)
                part.rename(kept)
                sync(kept.parent)
            new = self._next(agent_id, agent_id, clone_id)
            os.setxattr(new, MARK, mark.encode())
            sync(new)
            new.rename(image)
            sync(self.pool)

    @troubles()
    def sprout(self, agent_id: str, clone_id: str, new_agent: str, forget: tuple[str, ...]) -> None:
        """A workspace for another agent, with an identity of its own and without the paths of
        `forget` (below its data). Twice equals once. Raises CloneMissing, PoolFull."""
        image = self.pool / f"{new_agent}.img"
        with locked(self.pool, new_agent):
            if image.exists():
                return
            self._refuse_full()
            new = self._next(new_agent, agent_id, clone_id)
            run("tune2fs", "-U", "random", str(new))
            with self.looks.filling(new, f"{new_agent}.next") as root:
                _rename_owner(root / "id", new_agent)
                for path in forget:
                    _forget(root / "data", path)
            sync(new)
            new.rename(image)
            sync(self.pool)

    def _shrink(self, part: Path, gib: int) -> None:
        try:
            shrink_disk(part, gib)
        except WorkspaceTrouble:
            part.unlink(missing_ok=True)
            raise

    def _next(self, agent_id: str, source_agent: str, clone_id: str) -> Path:
        source, new = self._clone(source_agent, clone_id), self.pool / f".{agent_id}.next"
        if not source.exists():
            raise CloneMissing(clone_id)
        self.looks.end(f"{agent_id}.next")
        new.unlink(missing_ok=True)
        reflink.clone(source, new)
        return new

    def _refuse_full(self, needs: int = 0) -> None:
        room = room_of(self.pool, self.pool_image)
        if room.free < room.reserve + needs:
            raise PoolFull(room.free / GIBIBYTE, needs / GIBIBYTE)

    def _folder(self, agent_id: str) -> Path:
        return self.pool / "snapshots" / agent_id

    def _clone(self, agent_id: str, clone_id: str) -> Path:
        return self._folder(agent_id) / f"{clone_id}.img"

    def _part(self, final: Path) -> Path:
        """A fresh one: what a killed worker left is gone."""
        final.parent.mkdir(parents=True, exist_ok=True)
        part = final.with_suffix(".part")
        part.unlink(missing_ok=True)
        return part


def _repair(image: Path) -> None:
    """Replay a journal. e2fsck ends with 1 where it did, which is well."""
    try:
        run("e2fsck", "-p", str(image))
    except WorkspaceTrouble:
        run("e2fsck", "-p", str(image))


def _rename_owner(identity: Path, agent_id: str) -> None:
    part = identity / ".workspace.json"
    part.unlink(missing_ok=True)
    part.write_text(identity_text(agent_id))
    part.chmod(0o444)
    sync(part)
    part.rename(identity / "workspace.json")
    sync(identity)


def _forget(data: Path, path: str) -> None:
    """The disk is nobody's yet, but an agent wrote it: a link on the way is not followed."""
    here = data
    for name in Path(path).parts[:-1]:
        here /= name
        if here.is_symlink() or not here.is_dir():
            return
    last = here / Path(path).name
    if last.is_dir() and not last.is_symlink():
        shutil.rmtree(last)
    else:
        last.unlink(missing_ok=True)
