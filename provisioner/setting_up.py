"""A runtime's headless first run, done for every new container once it is up.

What it comes back with (tokens of the runtime's own) goes to the vault and, through the node's
memory, to the gateway; a setting that changed reaches a used runtime the same way.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from controlplane.agents.lease import Lease
from controlplane.agents.models import Agent, Release
from provisioner import delivery, names
from provisioner.backend import Backend
from provisioner.look import target
from provisioner.report import step
from provisioner.spec import runtime_settings
from runtimes.adapter import Endpoint, RuntimeUnreachable, Setup, load_setup
from runtimes.capped import capped_client
from runtimes.catalog import CATALOG

PATIENCE = 60.0  # seconds
MOST = 1024 * 1024  # bytes of an answer


def run(backend: Backend, lease: Lease, agent: Agent, release: Release) -> None:
    """Raises RuntimeProblem, VaultUnavailable, KeyGone, EngineUnavailable."""
    setup = load_setup(CATALOG[agent.runtime])
    container = backend.engine.inspect(names.container(agent.pk))
    found = target(backend, agent, container.address if container else None)
    if setup is None or container is None or found is None:
        return  # it went away meanwhile: the next look sees it
    made = asyncio.run(_set_up(setup, found.endpoint, agent.name, runtime_settings(release)))
    delivery.keep(backend.vault, agent, made)
    backend.keys.deliver(agent.pk, delivery.read(backend.vault, agent, release))
    lease.write(set_up_for=container.id)
    step(lease, agent, "set_up", "Set up", f"{CATALOG[agent.runtime].title} made its first run")


async def _set_up(
    setup: Setup, endpoint: Endpoint, title: str, settings: Mapping[str, Any]
) -> Mapping[str, str]:
    try:
        async with asyncio.timeout(PATIENCE), capped_client(MOST) as client:
            return await setup.set_up(client, endpoint, title, settings)
    except TimeoutError as error:
        raise RuntimeUnreachable(f"It took longer than {PATIENCE:.0f} s.") from error
