"""Handing keys to agents through memory: one small tmpfs of the node per agent.

The directory is bound into the container read-only, so the engine can restart an agent
with its keys while everything of ours is down. Changing a value is a rename inside the
directory, which a running container sees at once; a new mount it would not.

    keys/<agent>/keys.json    {"gateway": ..., "provider_key": ..., "secrets": {...}}
"""

import contextlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from provisioner.workspaces.base import AGENT_UID, WorkspaceTrouble, troubles
from provisioner.workspaces.mounts import is_mounted, run, unmount

OPTIONS = f"size=256k,nr_inodes=32,mode=0500,uid={AGENT_UID},gid={AGENT_UID},noexec,nosuid,nodev"
FILE = "keys.json"


class TmpfsKeys:
    """Where we are root: a mount per agent, readable by the agent's uid alone."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def directory(self, agent_id: str) -> str:
        return str(self.root / agent_id)

    @troubles()
    def deliver(self, agent_id: str, payload: Mapping[str, Any]) -> None:
        folder = self.root / agent_id
        folder.mkdir(parents=True, exist_ok=True)
        if not is_mounted(folder):
            folder.chmod(0o555)
            _mount(folder)
        _replace(folder / FILE, _encode(payload), mode=0o400, owner=AGENT_UID)

    def token(self, agent_id: str) -> str | None:
        """The agent's own API token, for the gateway and the probe; None when not delivered."""
        return _token(self.root / agent_id / FILE)

    def held(self, agent_id: str) -> bool:
        return is_mounted(self.root / agent_id)

    def withdraw(self, agent_id: str) -> None:
        folder = self.root / agent_id
        unmount(folder)
        with contextlib.suppress(OSError):
            folder.rmdir()


class SharedMemoryKeys:
    """Where we are not root: a directory in /dev/shm that other users cannot enter.

    Inside the container the file is readable by all, which there is the agent alone.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def directory(self, agent_id: str) -> str:
        return str(self.root / agent_id)

    @troubles()
    def deliver(self, agent_id: str, payload: Mapping[str, Any]) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o700)
        folder = self.root / agent_id
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
        _replace(folder / FILE, _encode(payload), mode=0o444)

    def token(self, agent_id: str) -> str | None:
        return _token(self.root / agent_id / FILE)

    def held(self, agent_id: str) -> bool:
        return (self.root / agent_id / FILE).exists()

    def withdraw(self, agent_id: str) -> None:
        shutil.rmtree(self.root / agent_id, ignore_errors=True)


class FakeKeys:
    """Beside the fake engine."""

    def __init__(self) -> None:
        self.delivered: dict[str, Mapping[str, Any]] = {}

    def directory(self, agent_id: str) -> str:
        return f"/nowhere/keys/{agent_id}"

    def deliver(self, agent_id: str, payload: Mapping[str, Any]) -> None:
        self.delivered[agent_id] = payload

    def token(self, agent_id: str) -> str | None:
        payload = self.delivered.get(agent_id)
        return payload["gateway"] if payload else None

    def held(self, agent_id: str) -> bool:
        return agent_id in self.delivered

    def withdraw(self, agent_id: str) -> None:
        self.delivered.pop(agent_id, None)


Keys = TmpfsKeys | SharedMemoryKeys | FakeKeys


def _mount(folder: Path) -> None:
    """Without swap where the kernel knows the word (6.4 and later): swapped memory is a disk."""
    for options in (f"{OPTIONS},noswap", OPTIONS):
        try:
            run("mount", "-t", "tmpfs", "-o", options, "roost-keys", str(folder))
        except WorkspaceTrouble:
            if options == OPTIONS:
                raise
        else:
            return


def _encode(payload: Mapping[str, Any]) -> bytes:
    return json.dumps(payload, ensure_ascii=False).encode()


def _replace(path: Path, data: bytes, *, mode: int, owner: int | None = None) -> None:
    """Whole or not at all, and not at all when nothing changed."""
    try:
        if path.read_bytes() == data:
            return
    except OSError:
        pass
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    try:
        os.write(handle, data)
        os.fchmod(handle, mode)
        if owner is not None:
            os.fchown(handle, owner, owner)
    finally:
        os.close(handle)
    part.rename(path)


def _token(path: Path) -> str | None:
    try:
        token: str = json.loads(path.read_bytes())["gateway"]
    except (OSError, ValueError, KeyError):
        return None
    return token
