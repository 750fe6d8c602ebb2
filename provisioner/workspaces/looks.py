"""Mounting disks that are nobody's workspace: copies to read, and new ones to fill.

clones/<clone>@<look>     where a copy is mounted, read-only, for one who looks at it
clones/<name>             where a disk that is being made is mounted, to write into
"""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from provisioner.workspaces.base import troubles
from provisioner.workspaces.locking import locked, locked_if_free
from provisioner.workspaces.mounts import run, unmount

READ = "loop,ro,noatime,nodev,nosuid,noexec"
FILL = "loop,noatime,nodev,nosuid,noexec"


class Looks:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def reading(self, image: Path, clone_id: str) -> Iterator[Path]:
        """Each reader has a mount of its own, so that none ends another's."""
        point = self.folder / f"{clone_id}@{token_hex(6)}"
        with troubles():
            self.folder.mkdir(parents=True, exist_ok=True)
        # Held while it is looked at: a mount that nobody holds was left by one who was killed.
        with locked(self.folder, point.name):
            try:
                with locked(self.folder, clone_id):
                    self._end_forgotten(clone_id)
                    self._mount(image, point, READ)
                yield point
            finally:
                with locked(self.folder, clone_id):
                    self._end(point)

    @contextmanager
    def filling(self, image: Path, name: str) -> Iterator[Path]:
        """One at a time of a name."""
        self.end(name)  # of one that was killed while it filled it
        self._mount(image, self.folder / name, FILL)
        try:
            yield self.folder / name
        finally:
            self.end(name)

    def end(self, name: str) -> None:
        point = self.folder / name
        unmount(point)
        with contextlib.suppress(OSError):
            point.rmdir()

    def end_all(self, clone_id: str) -> None:
        """Whoever still reads it reads on from what they have open."""
        for point in self.folder.glob(f"{clone_id}@*"):
            self._end(point)
        (self.folder / f".{clone_id}.lock").unlink(missing_ok=True)

    def _end_forgotten(self, clone_id: str) -> None:
        for point in self.folder.glob(f"{clone_id}@*"):
            with locked_if_free(self.folder, point.name) as free:
                if free:
                    self._end(point)

    def _end(self, point: Path) -> None:
        self.end(point.name)
        (self.folder / f".{point.name}.lock").unlink(missing_ok=True)

    @troubles()
    def _mount(self, image: Path, point: Path, options: str) -> None:
        point.mkdir(parents=True, exist_ok=True)
        point.chmod(0o700)
        self.folder.chmod(0o700)
        run("mount", "-o", options, str(image), str(point))
