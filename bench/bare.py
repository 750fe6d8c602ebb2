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
from provisioner.delivery import STANDIN_KEY, TOKEN_BYTES
from provisioner.engines.base import ContainerSpec
from provisioner.engines.docker_spec import container_arguments
from provisioner.probe import Target
from provisioner.secrets import Delivery
from provisioner.spec import Place, container_spec
from runtimes.catalog import CATALOG

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
        runtime, token = CATALOG[like.runtime], secrets.token_hex(TOKEN_BYTES)
        own = {name: secrets.token_hex(TOKEN_BYTES) for name in runtime.own_secrets}
        backend.keys.deliver(twin.pk, Delivery(token, STANDIN_KEY, own))
        spec = _spec(backend, twin, like)
        assert spec.address is not None
        api = docker.APIClient(version="auto", timeout=60, **docker.utils.kwargs_from_env())
        arguments = container_arguments(api, spec, os.cpu_count() or 1)
        blank = runtime.setup is not None  # it is not set up: that is the platform's part
        target = Target(twin.pk, runtime, spec.address, token, own, blank)
        one = cls(api, arguments, target, backend)
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
        if not self.backend.prober.wait(self.target, self.target.runtime.start_deadline_s):
            raise Stuck("A bare container did not answer in time.")

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
