"""Making everything an agent's container stands on: workspace, keys, network, guard.

Each function is an ensure; together they are what a create, a start after a crash, a start
after a reboot and a replacement all go through.
"""

from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.utils.timezone import now

from controlplane.agents.lease import Lease
from controlplane.agents.models import Agent, Release
from provisioner import names, networks, reach
from provisioner.backend import Backend
from provisioner.report import step
from provisioner.secrets import Delivery
from provisioner.snapshots import sprout
from provisioner.spec import Place, container_spec
from provisioner.workspaces.base import Mounted
from runtimes.catalog import Runtime

KEPT = "What was in it is still there"


def ensure_workspace(backend: Backend, lease: Lease, agent: Agent, release: Release) -> Mounted:
    """Raises WorkspaceTrouble and its kinds."""
    made = agent.workspace_made_at is not None
    if sprout.needed(agent):
        sprout.make(backend, agent)
    mounted = backend.workspaces.ensure(agent.pk, release.disk_gib, made=made)
    if not made:
        agent.workspace_made_at = now()
        agent.quota_enforcement = backend.workspaces.enforcement
        lease.write(
            workspace_made_at=agent.workspace_made_at, quota_enforcement=agent.quota_enforcement
        )
        limit = f"{release.disk_gib} GiB, {backend.workspaces.enforcement} limit"
        step(lease, agent, "workspace", "Workspace made", limit)
    elif mounted.grown:
        step(lease, agent, "workspace", f"Workspace grown to {release.disk_gib} GiB", KEPT)
    return mounted


def ensure_network(backend: Backend, agent: Agent) -> networks.Placed:
    placed = networks.place(agent)
    backend.engine.ensure_network(placed.network)
    return placed


def ensure_guard(backend: Backend, agent: Agent, release: Release, placed: networks.Placed) -> None:
    if backend.guarded:
        reach.apply(agent.pk, placed, egress=release.egress, entries=release.allowed_hosts)


def create(
    backend: Backend,
    lease: Lease,
    agent: Agent,
    release: Release,
    runtime: Runtime,
    keys: Delivery,
) -> None:
    """Everything, then the container, started."""
    mounted = ensure_workspace(backend, lease, agent, release)
    backend.keys.deliver(agent.pk, keys)
    placed = ensure_network(backend, agent)
    place = Place(
        installation=settings.ROOST_INSTALLATION,
        workspace=mounted,
        keys_dir=backend.keys.directory(agent.pk),
        network=placed.network.name,
        address=placed.address,
        dns=backend.dns,
    )
    spec = container_spec(agent, release, runtime, place)
    # Both take their time, and what is made runs nothing yet.
    with ThreadPoolExecutor(max_workers=1) as aside:
        made = aside.submit(backend.engine.ensure_created, spec)
        ensure_guard(backend, agent, release, placed)
    made.result()
    backend.engine.ensure_started(names.container(agent.pk))
    step(
        lease,
        agent,
        "container",
        "Container started",
        f"Release {release.number}, {release.memory_mb} MB, keys held in memory only",
    )


def restore(backend: Backend, lease: Lease, agent: Agent, keys: Delivery | None) -> None:
    """What the container that is there stands on, after a crash or a reboot."""
    assert agent.release is not None  # noqa: S101  set in the transaction that made the agent
    ensure_workspace(backend, lease, agent, agent.release)
    if keys is not None:
        backend.keys.deliver(agent.pk, keys)
    ensure_guard(backend, agent, agent.release, ensure_network(backend, agent))


def let_go(backend: Backend, agent: Agent) -> None:
    """Keys out of memory, workspace unmounted. After the container has stopped, never before."""
    backend.keys.withdraw(agent.pk)
    backend.workspaces.release(agent.pk)
