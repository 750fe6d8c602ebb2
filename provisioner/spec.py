"""One function fills the closed schema, for create, recover, restart, upgrade, restore and fork.

What goes in are ids, our own numbers and checked words; user input never becomes an
engine's field, a path or a shell word. Settings travel as JSON in one variable.
"""

import json
from dataclasses import dataclass
from typing import Any

from controlplane.agents.addresses import web_origin
from controlplane.agents.models import Agent, Isolation, Release
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
            "ROOST_WORKSPACE_KIND": _kind(release, place),
            "ROOST_RELEASE": str(release.number),
            "ROOST_SETTINGS": json.dumps(runtime_settings(release)),
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
        isolation="gvisor" if release.isolation == Isolation.GVISOR else "default",
    )


def _kind(release: Release, place: Place) -> str:
    """Under gVisor each mount has a device number of its own, so the boot shim cannot tell by it
    that identity and data are one disk; what is left are its other checks, as of a plain one."""
    return "plain" if release.isolation == Isolation.GVISOR else place.workspace.kind


def runtime_settings(release: Release) -> dict[str, Any]:
    """What a runtime's boot hook and set-up are told; what is empty is left out."""
    settings = {
        "provider": release.provider,
        "model": release.model,
        "base_url": release.base_url,
        "background": release.background,
        "web_origin": web_origin(release.agent_id),
    }
    return {name: value for name, value in settings.items() if value}
