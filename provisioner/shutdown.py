"""Taking a node down, and taking everything of an installation off a host.

Nobody's goal changes: what should run comes back with the node.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings

from controlplane.agents.models import Agent
from provisioner import guard, host, names
from provisioner.backend import Backend
from provisioner.engines.base import Container
from provisioner.workspaces.mounts import mounts_below, unmount

Say = Callable[[str], None]
GRACE = 20  # seconds


def down(backend: Backend, say: Say) -> None:
    """Stop every agent politely, then let go of keys, workspaces and pool."""
    listed = backend.engine.containers(names.mine(settings.ROOST_INSTALLATION))
    active = [one for one in listed if one.state in {"running", "restarting", "paused"}]

    def stop(container: Container) -> None:
        backend.engine.ensure_stopped(container.name, GRACE)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(stop, active))
    # We ended them ourselves: when the node is back, that is no crash of theirs.
    Agent.objects.on(settings.ROOST_NODE).update(life="")
    say(f"{len(active)} agents stopped; their workspaces are kept")
    if os.geteuid() == 0:
        for folder in (settings.ROOST_KEYS_DIR, settings.ROOST_STATE_DIR):
            for point in mounts_below(folder):
                unmount(point)
    else:
        for container in listed:
            backend.keys.withdraw(container.agent_id)


def clean(backend: Backend, say: Say) -> None:
    """Remove this installation's containers, networks, guard and address from the host. Whoever
    calls this means to lose the workspaces, which lie in the state directory."""
    mine = names.mine(settings.ROOST_INSTALLATION)
    for container in backend.engine.containers(mine):
        backend.engine.ensure_removed(container.name)
    for network in backend.engine.networks(mine):
        backend.engine.ensure_network_removed(network)
    if settings.ROOST_WORKSPACE_DRIVER == "plain":
        for agent_id in backend.workspaces.known():
            backend.workspaces.destroy(agent_id)
    down(backend, say)
    if backend.guarded:
        guard.unload(settings.ROOST_INSTALLATION)
        host.remove_service_address(settings.ROOST_SERVICE_ADDRESS)
    say("containers, networks and rules of this installation are gone from the host")
