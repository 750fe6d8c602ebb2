"""Making everything an agent's container stands on: workspace, keys, network, guard.

Each function is an ensure; together they are what a create, a start after a crash, a start
after a reboot and a replacement all go through.
"""

import secrets
from typing import Any

from django.conf import settings
from django.utils.timezone import now

from controlplane.agents.lease import Lease
from controlplane.agents.models import Agent, Release
from controlplane.keys.vault import SecretMissing, Vault
from provisioner import names, networks, reach
from provisioner.backend import Backend
from provisioner.report import step
from provisioner.spec import Place, container_spec
from provisioner.workspaces.base import Mounted
from runtimes.catalog import Runtime

_TOKEN_BYTES = 24
STANDIN_KEY = "roost-standin"  # no secret: the local stand-in model takes any key


class KeyGone(Exception):
    """The release's key was revoked, or its value is not in the vault."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Its key {name} is revoked or missing, so it cannot start. Choose another key in its "
            "settings."
        )


def read_keys(vault: Vault, agent: Agent, release: Release) -> dict[str, Any]:
    """What the boot shim gets. Raises VaultUnavailable, KeyGone."""
    path = f"agents/{agent.pk}"
    try:
        own = vault.read(path)
    except SecretMissing:
        vault.write_if_missing(path, {"gateway": secrets.token_hex(_TOKEN_BYTES)})
        own = vault.read(path)
    return {
        "gateway": own["gateway"],
        "provider_key": _provider_key(vault, release),
        "secrets": {},
    }


def _provider_key(vault: Vault, release: Release) -> str:
    if release.key is None:
        return STANDIN_KEY
    if release.key.revoked_at is not None:
        raise KeyGone(release.key.name)
    try:
        return vault.read(release.key.vault_path)["value"]
    except SecretMissing as error:
        raise KeyGone(release.key.name) from error


def ensure_workspace(backend: Backend, lease: Lease, agent: Agent, release: Release) -> Mounted:
    """Raises WorkspaceTrouble and its kinds."""
    made = agent.workspace_made_at is not None
    mounted = backend.workspaces.ensure(agent.pk, release.disk_gib, made=made)
    if not made:
        agent.workspace_made_at = now()
        agent.quota_enforcement = backend.workspaces.enforcement
        lease.write(
            workspace_made_at=agent.workspace_made_at, quota_enforcement=agent.quota_enforcement
        )
        limit = f"{release.disk_gib} GiB, {backend.workspaces.enforcement} limit"
        step(lease, agent, "workspace", "Workspace made", limit)
    return mounted


def ensure_network(backend: Backend, agent: Agent, release: Release) -> networks.Placed:
    placed = networks.place(agent)
    backend.engine.ensure_network(placed.network)
    if backend.guarded:
        reach.apply(placed, is_open=release.egress == "open")
    return placed


def create(
    backend: Backend,
    lease: Lease,
    agent: Agent,
    release: Release,
    runtime: Runtime,
    keys: dict[str, Any],
) -> None:
    """Everything, then the container, started."""
    mounted = ensure_workspace(backend, lease, agent, release)
    backend.keys.deliver(agent.pk, keys)
    placed = ensure_network(backend, agent, release)
    place = Place(
        installation=settings.ROOST_INSTALLATION,
        workspace=mounted,
        keys_dir=backend.keys.directory(agent.pk),
        network=placed.network.name,
        address=placed.address,
        dns=backend.dns,
    )
    backend.engine.ensure_created(container_spec(agent, release, runtime, place))
    backend.engine.ensure_started(names.container(agent.pk))
    step(
        lease,
        agent,
        "container",
        "Container started",
        f"Release {release.number}, {release.memory_mb} MB, keys held in memory only",
    )


def restore(backend: Backend, lease: Lease, agent: Agent, keys: dict[str, Any] | None) -> None:
    """What the container that is there stands on, after a crash or a reboot."""
    assert agent.release is not None  # noqa: S101  set in the transaction that made the agent
    ensure_workspace(backend, lease, agent, agent.release)
    if keys is not None:
        backend.keys.deliver(agent.pk, keys)
    ensure_network(backend, agent, agent.release)


def let_go(backend: Backend, agent: Agent) -> None:
    """Keys out of memory, workspace unmounted. After the container has stopped, never before."""
    backend.keys.withdraw(agent.pk)
    backend.workspaces.release(agent.pk)
