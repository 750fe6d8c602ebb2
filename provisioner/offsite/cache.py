"""restic's cache of indexes and trees: private, and bounded over all repositories."""

import os
import shutil
import time
from pathlib import Path

LIMIT = 2 * 1024**3  # bytes
IN_USE = 3600  # seconds since the last change: a run may still read it


def ensure(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)


def trim(folder: Path, limit: int = LIMIT, in_use: float = IN_USE) -> None:
    """Remove what was used longest ago until all fits; restic fetches again what it misses."""
    kept = sorted(
        ((path.stat().st_mtime, path) for path in folder.iterdir() if path.is_dir()), reverse=True
    )
    total = 0
    for used, path in kept:
        total += _size(path)
        if total > limit and time.time() - used > in_use:
            shutil.rmtree(path, ignore_errors=True)


def _size(folder: Path) -> int:
    total = 0
    for inner, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(inner, name)).st_size
            except OSError:
                continue
    return total
