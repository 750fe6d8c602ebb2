"""One function fills the closed schema, for create, recover, restart, upgrade, restore and fork.

What goes in are ids, our own numbers and checked words; user input never becomes an
engine's field, a path or a shell word. Settings travel as JSON in one variable.
"""

import json
from dataclasses import dataclass

from controlplane.agents.models import Agent, Release
from provisioner import names
from provisioner.engines.base import Bind, ContainerSpec
from provisioner.workspaces.base import Mounted
from runtimes.catalog import Runtime


@dataclass(frozen=True)
class Place:
    """Where on this node the agent lives."""

    installation: str
    workspace: Mounted
    keys_dir: str
    network: str
    address: str | None
    dns: tuple[str, ...]


def container_spec(agent: Agent, release: Release, runtime: Runtime, place: Place) -> ContainerSpec:
    return ContainerSpec(
        name=names.container(agent.pk),
        image=release.image,
        labels={
            names.INSTALLATION: place.installation,
            names.AGENT: agent.pk,
            names.ORGANISATION: agent.organisation_id,
            names.RELEASE: str(release.number),
            names.RESTART: str(agent.restart_serial),
        },
        environment={
            "ROOST_AGENT": agent.pk,
            "ROOST_WORKSPACE": agent.pk,
            "ROOST_WORKSPACE_KIND": place.workspace.kind,
            "ROOST_RELEASE": str(release.number),
            "ROOST_SETTINGS": json.dumps(_settings(release)),
        },
        binds=(
            Bind(str(place.workspace.data), "/workspace", read_only=False),
            Bind(str(place.workspace.identity), "/roost/id", read_only=True),
            Bind(place.keys_dir, "/roost/keys", read_only=True),
        ),
        network=place.network,
        address=place.address,
        dns=place.dns,
        memory_mb=release.memory_mb,
        cpu_millis=release.cpu_millis,
        pids=runtime.pids,
        tmp_mb=runtime.tmp_mb,
    )


def _settings(release: Release) -> dict[str, str]:
    settings = {
        "provider": release.provider,
        "model": release.model,
        "base_url": release.base_url,
    }
    return {name: value for name, value in settings.items() if value}
