"""`logs`: what every program writes, as it writes it, each line under its name."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from deploy.local.errors import CheckFailed
from deploy.local.layout import Installation

TAIL = 4096


@dataclass
class Follower:
    """Reads one log from near its end; goes on in the new file after a rotation."""

    path: Path
    _inode: int = 0
    _offset: int = -1
    _rest: bytes = field(default=b"", repr=False)

    def lines(self) -> Iterator[str]:
        """The whole lines written since the last call."""
        try:
            status = self.path.stat()
            with self.path.open("rb") as stream:
                self._position(status.st_ino, status.st_size)
                stream.seek(self._offset)
                fresh = stream.read()
        except OSError:
            return
        self._offset += len(fresh)
        *whole, self._rest = (self._rest + fresh).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace").rstrip("\r")

    def _position(self, inode: int, size: int) -> None:
        if self._offset < 0:
            self._offset = max(0, size - TAIL)
        elif inode != self._inode or size < self._offset:
            self._offset = 0
        self._inode = inode


def follow(installation: Installation, *, once: bool = False) -> None:
    """Print until interrupted; with `once` only what is there."""
    followers: dict[Path, Follower] = {}
    while True:
        for path in sorted(installation.log_dir.glob("*.log")):
            follower = followers.setdefault(path, Follower(path))
            for line in follower.lines():
                print(f"{path.stem:<11}| {line}", flush=True)
        if not followers:
            raise CheckFailed(f"There are no logs in {installation.log_dir}.", "Run `make up`.")
        if once:
            return
        time.sleep(0.3)
