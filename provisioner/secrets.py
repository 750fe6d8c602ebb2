"""Handing keys to agents through memory: one small tmpfs of the node per agent.

The directory is bound into the container read-only, so the engine can restart an agent
with its keys while everything of ours is down. Changing a value is a rename inside the
directory, which a running container sees at once; a new mount it would not.

    keys/<agent>/keys.json      gateway, provider_key, secrets, own: see Delivery
    keys/<agent>/files/<NAME>   a secret that is handed over as a file
"""

import contextlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from provisioner.workspaces.base import AGENT_UID, WorkspaceTrouble, troubles
from provisioner.workspaces.mounts import is_mounted, run, unmount

# Room for an agent's secrets twice over, since a file is written beside the one it replaces.
OPTIONS = f"size=2m,nr_inodes=128,mode=0500,uid={AGENT_UID},gid={AGENT_UID},noexec,nosuid,nodev"
FILE, FILES = "keys.json", "files"


@dataclass(frozen=True)
class Delivery:
    """What an agent boots with; nothing of it is ever shown."""

    gateway: str = field(repr=False)
    provider_key: str | None = field(default=None, repr=False)
    own: Mapping[str, str] = field(default_factory=dict, repr=False)
    # By the name of the environment's variable: its text, or what lies in the file it names.
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    versions: Mapping[str, int] = field(default_factory=dict)  # of keys and secrets, by id

    def payload(self) -> dict[str, Any]:
        """The keys file, as the boot shim reads it."""
        paths = {name: f"/roost/keys/{FILES}/{name}" for name in self.files}
        return {
            "gateway": self.gateway,
            "provider_key": self.provider_key,
            "secrets": {**self.secrets, **paths},
            "own": dict(self.own),
        }


@dataclass(frozen=True)
class Held:
    """What the node needs of it to talk to the agent."""

    token: str = field(repr=False)
    own: Mapping[str, str] = field(repr=False)


class TmpfsKeys:
    """Where we are root: a mount per agent, readable by the agent's uid alone."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def directory(self, agent_id: str) -> str:
        return str(self.root / agent_id)

    @troubles()
    def deliver(self, agent_id: str, delivery: Delivery) -> None:
        folder = self.root / agent_id
        folder.mkdir(parents=True, exist_ok=True)
        if not is_mounted(folder):
            folder.chmod(0o555)
            _mount(folder)
        _fill(folder, delivery, file_mode=0o400, folder_mode=0o500, owner=AGENT_UID)

    def find(self, agent_id: str) -> Held | None:
        """For the gateway and the probe; None when not delivered."""
        return _find(self.root / agent_id / FILE)

    def held(self, agent_id: str) -> bool:
        return is_mounted(self.root / agent_id)

    def known(self) -> list[str]:
        return _known(self.root)

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
    def deliver(self, agent_id: str, delivery: Delivery) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o700)
        folder = self.root / agent_id
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
        _fill(folder, delivery, file_mode=0o444, folder_mode=0o755)

    def find(self, agent_id: str) -> Held | None:
        return _find(self.root / agent_id / FILE)

    def held(self, agent_id: str) -> bool:
        return (self.root / agent_id / FILE).exists()

    def known(self) -> list[str]:
        return _known(self.root)

    def withdraw(self, agent_id: str) -> None:
        shutil.rmtree(self.root / agent_id, ignore_errors=True)


class FakeKeys:
    """Beside the fake engine."""

    def __init__(self) -> None:
        self.delivered: dict[str, Delivery] = {}

    def directory(self, agent_id: str) -> str:
        return f"/nowhere/keys/{agent_id}"

    def deliver(self, agent_id: str, delivery: Delivery) -> None:
        self.delivered[agent_id] = delivery

    def find(self, agent_id: str) -> Held | None:
        delivery = self.delivered.get(agent_id)
        return _held(delivery.payload()) if delivery else None

    def held(self, agent_id: str) -> bool:
        return agent_id in self.delivered

    def known(self) -> list[str]:
        return sorted(self.delivered)

    def withdraw(self, agent_id: str) -> None:
        self.delivered.pop(agent_id, None)


Keys = TmpfsKeys | SharedMemoryKeys | FakeKeys


def _known(root: Path) -> list[str]:
    """The agents with a place for keys, filled or not."""
    return sorted(path.name for path in root.glob("agt_*"))


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


def _fill(
    folder: Path, delivery: Delivery, *, file_mode: int, folder_mode: int, owner: int | None = None
) -> None:
    """The keys file last: what it names is there by then."""
    files = folder / FILES
    files.mkdir(exist_ok=True)
    files.chmod(folder_mode)
    if owner is not None:
        os.chown(files, owner, owner)
    for name, data in delivery.files.items():
        _replace(files / name, data, mode=file_mode, owner=owner)
    encoded = json.dumps(delivery.payload(), ensure_ascii=False).encode()
    _replace(folder / FILE, encoded, mode=file_mode, owner=owner)
    for path in files.iterdir():
        if path.name not in delivery.files:
            path.unlink()


def _replace(path: Path, data: bytes, *, mode: int, owner: int | None = None) -> None:
    """Whole or not at all, and not at all when nothing changed."""
    try:
        if path.read_bytes() == data:
            return
    except OSError:
        pass
    part = path.with_name(f"{path.name}.part")  # no secret's name has a dot
    part.unlink(missing_ok=True)
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        os.fchmod(handle, mode)
        if owner is not None:
            os.fchown(handle, owner, owner)
    part.rename(path)


def _find(path: Path) -> Held | None:
    try:
        return _held(json.loads(path.read_bytes()))
    except (OSError, ValueError, KeyError):
        return None


def _held(payload: Mapping[str, Any]) -> Held:
    own = payload.get("own", {})
    return Held(own.get("token", payload["gateway"]), own)
