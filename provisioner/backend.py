"""The parts of this node that a pass works with, chosen by settings once per process."""

import os
import threading
from dataclasses import dataclass
from functools import cache

from django.conf import settings

from controlplane.keys.vault import Vault, get_vault
from provisioner.engines.base import Engine
from provisioner.engines.docker import DockerEngine
from provisioner.engines.fake import FakeEngine
from provisioner.probe import FakeProber, HttpProber, Prober
from provisioner.secrets import FakeKeys, Keys, SharedMemoryKeys, TmpfsKeys
from provisioner.workspaces.base import WorkspaceDriver
from provisioner.workspaces.fake import FakeWorkspaces
from provisioner.workspaces.loop import LoopWorkspaces
from provisioner.workspaces.plain import PlainWorkspaces


@dataclass(frozen=True)
class Backend:
    engine: Engine
    workspaces: WorkspaceDriver
    keys: Keys
    vault: Vault
    prober: Prober
    guarded: bool
    patience: float  # seconds a pass waits for a start before it lets the sweep go on

    @property
    def dns(self) -> tuple[str, ...]:
        """The node's resolver, where there is one; the engine's own makes first turns wait 20 s."""
        return (settings.ROOST_SERVICE_ADDRESS,) if self.guarded else ()


_lock = threading.Lock()


def get_backend() -> Backend:
    with _lock:
        return _backend()


@cache
def _backend() -> Backend:
    if settings.ROOST_ENGINE == "fake":
        return fake_backend()
    engine = DockerEngine()
    root = os.geteuid() == 0
    loop = settings.ROOST_WORKSPACE_DRIVER == "loop"
    state = settings.ROOST_STATE_DIR
    return Backend(
        engine=engine,
        workspaces=LoopWorkspaces(state) if loop else PlainWorkspaces(state, engine),
        keys=(TmpfsKeys if root else SharedMemoryKeys)(settings.ROOST_KEYS_DIR),
        vault=get_vault(),
        prober=HttpProber(),
        guarded=settings.ROOST_GUARD and root,
        patience=20,
    )


def fake_backend() -> Backend:
    return Backend(
        engine=FakeEngine(),
        workspaces=FakeWorkspaces(),
        keys=FakeKeys(),
        vault=get_vault(),
        prober=FakeProber(),
        guarded=False,
        patience=0,
    )


def weaknesses(backend: Backend) -> list[str]:
    """What this node cannot enforce, in sentences for operators."""
    found = []
    if backend.workspaces.enforcement != "hard":
        found.append("Disk limits are advisory: a workspace can grow past its size.")
    if isinstance(backend.keys, SharedMemoryKeys):
        found.append("Keys lie in /dev/shm, in memory, but in a place shared by all agents' files.")
    if not backend.guarded:
        found.append("There is no network guard: agents can reach this host and its networks.")
    return found
