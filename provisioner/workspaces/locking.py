"""One at a time per workspace: nothing is unmounted, replaced or destroyed while it is copied.

A lock of the host, so that worker, node and jobs see each other's, and gone with who held it.
Not re-entrant.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(folder: Path, agent_id: str) -> Iterator[None]:
    handle = os.open(folder / f".{agent_id}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def locked_if_free(folder: Path, agent_id: str) -> Iterator[bool]:
    """Yields whether it was."""
    handle = os.open(folder / f".{agent_id}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)
