"""One `up`, `down` or `clean` at a time per state directory."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.local.errors import Busy


@contextmanager
def held(state_dir: Path) -> Iterator[None]:
    """Hold the lock for the block; `Busy` names the process that has it.

    The kernel drops the lock with its process, so a killed `up` leaves nothing behind.
    """
    path = state_dir / "lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(handle, 32).decode().strip() or "unknown"
            raise Busy(
                f"Another start or stop of this installation is under way (pid {holder}).",
                "Wait until it has finished, then run the command again.",
            ) from error
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)
