"""A container of the engine alone: the same image, the same flags, and nobody who looks after it.

What it stands on (disk, keys, network) is made before the clock starts.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any, Self

import docker

from bench.installation import Stuck
from controlplane import ids
from controlplane.agents.models import Agent
from provisioner import names, networks
from provisioner.backend import Backend
from provisioner.boot import STANDIN_KEY
from provisioner.engines.base import ContainerSpec
from provisioner.engines.docker_spec import container_arguments
from provisioner.probe import Target
from provisioner.spec import Place, container_spec
from runtimes.catalog import CATALOG

READY_S = 120
LAST_HOST = 14  # of the organisation's network; the platform gives it out last


@dataclass(frozen=True)
class Bare:
    """`arguments` are the very ones the platform would create it with."""

    api: Any
    arguments: dict[str, Any]
    target: Target
    backend: Backend

    @classmethod
    @contextmanager
    def prepared(cls, backend: Backend, like: Agent) -> Iterator[Self]:
        """As the platform would make it for a new agent with the settings of `like`; removed with
        all that was made for it when the block ends."""
        twin = Agent(id=ids.agent_id(), organisation_id=like.organisation_id, runtime=like.runtime)
        runtime, token = CATALOG[like.runtime], secrets.token_hex(24)
        keys = {"gateway": token, "provider_key": STANDIN_KEY, "secrets": {}}
        backend.keys.deliver(twin.pk, keys)
        spec = _spec(backend, twin, like)
        assert spec.address is not None
        api = docker.APIClient(version="auto", timeout=60, **docker.utils.kwargs_from_env())
        arguments = container_arguments(api, spec, os.cpu_count() or 1)
        one = cls(api, arguments, Target(twin.pk, runtime, spec.address, token), backend)
        try:
            yield one
        finally:
            one._remove()

    @property
    def name(self) -> str:
        return str(self.arguments["name"])

    def run(self) -> None:
        """What `docker run -d` does."""
        self.api.create_container(**self.arguments)
        self.api.start(self.name)

    def wait_ready(self) -> None:
        if not self.backend.prober.wait(self.target, READY_S):
            raise Stuck(f"A bare container did not answer within {READY_S} s.")

    def _remove(self) -> None:
        with suppress(docker.errors.NotFound):
            self.api.remove_container(self.name, force=True)
        self.backend.keys.withdraw(self.target.agent_id)
        self.backend.workspaces.destroy(self.target.agent_id)


def _spec(backend: Backend, twin: Agent, like: Agent) -> ContainerSpec:
    placed, release = networks.find(like), like.release
    assert placed is not None
    assert release is not None
    subnet = placed.network.subnet
    place = Place(
        # Not the installation's own label: its node must not see this container.
        installation="bare",
        workspace=backend.workspaces.ensure(twin.pk, release.disk_gib, made=False),
        keys_dir=backend.keys.directory(twin.pk),
        network=placed.network.name,
        address=str(IPv4Network(subnet)[LAST_HOST]),
        dns=backend.dns,
    )
    spec = container_spec(twin, release, CATALOG[like.runtime], place)
    assert spec.name == names.container(twin.pk)
    return spec
