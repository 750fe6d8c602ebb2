"""Making the disk of a workspace: a sparse file with an ext4 file system and an identity inside."""

import os
import shutil
from pathlib import Path

from provisioner.workspaces.base import AGENT_UID, Pool, identity_text
from provisioner.workspaces.mounts import run

GIBIBYTE = 1024**3
RESERVE = 2 * GIBIBYTE  # of the pool, never given to a new workspace or a copy
LONG = 600.0  # seconds for checking a large disk


def room_of(pool: Path, image: Path) -> Pool:
    """Of a mounted pool. It is a sparse file: what the host's disk cannot give is not there."""
    seen, host = shutil.disk_usage(pool), shutil.disk_usage(image.parent)
    backed = max(0, image.stat().st_blocks * 512 - seen.used)
    return Pool(seen.total, min(seen.free, backed + host.free), RESERVE)


def make_disk(part: Path, agent_id: str, gib: int) -> None:
    """At `part`, which must not be there, on disk when this returns. OSError, WorkspaceTrouble."""
    root = part.with_suffix(".root")
    shutil.rmtree(root, ignore_errors=True)
    _skeleton(root, agent_id)
    with part.open("wb") as file:
        file.truncate(gib * GIBIBYTE)
    part.chmod(0o600)
    options = "lazy_itable_init=1,lazy_journal_init=1,root_owner=0:0"
    run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", options, "-d", str(root), str(part))
    sync(part)
    shutil.rmtree(root, ignore_errors=True)


def roomy(gib: int, needs: int) -> int:
    """GiB of a disk that holds `needs` bytes of files, and is no smaller than `gib`."""
    return max(gib, -(-needs * 21 // (20 * GIBIBYTE)) + 1) if needs > gib * GIBIBYTE // 2 else gib


def shrink_disk(part: Path, gib: int) -> None:
    """One that is not mounted, to `gib`. Raises WorkspaceTrouble where its files take more."""
    run("e2fsck", "-p", "-f", str(part), timeout=LONG, fine=(0, 1))
    run("resize2fs", str(part), f"{gib}G", timeout=LONG)
    with part.open("r+b") as file:
        file.truncate(gib * GIBIBYTE)


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


def sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
