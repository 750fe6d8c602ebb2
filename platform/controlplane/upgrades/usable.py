"""Whether what an older release says can be wanted again, and what becomes of it."""

from controlplane.agents.models import Agent, Release
from controlplane.agents.releases import keep_disk
from controlplane.agents.rules import Settings, check_settings, runtime_of
from controlplane.agents.sizes import size_of
from controlplane.errors import Invalid
from controlplane.upgrades.errors import ReleaseNotUsable


def spec_of(agent: Agent, target: Release, current: Release) -> Settings:
    """By the rules of today; the disk is the larger of the two. Raises ReleaseNotUsable."""
    secrets = list(target.secrets.all())
    for noun, thing in (("key", target.key), *(("secret", one) for one in secrets)):
        if thing is not None and thing.revoked_at is not None:
            raise ReleaseNotUsable(
                target.number,
                f"Its {noun} {thing.name} is revoked. Change the settings instead, and choose "
                f"another {noun} there.",
            )
    try:
        found = check_settings(
            runtime_of(agent.runtime),
            key=target.key,
            model=target.model,
            size=size_of(target.memory_mb, target.cpu_millis),
            disk_gib=target.disk_gib,
            egress=target.egress,
            egress_hosts=target.egress_hosts,
            isolation=target.isolation,
            background=target.background,
            secrets=secrets,
        )
    except Invalid as error:
        raise ReleaseNotUsable(target.number, str(error)) from error
    return keep_disk(found, current)


def why_back(target: Release, spec: Settings) -> str:
    """For the history."""
    larger = spec.disk_gib > target.disk_gib
    kept = f"; the workspace keeps its {spec.disk_gib} GiB" if larger else ""
    return f"Rolled back to release {target.number}{kept}"
