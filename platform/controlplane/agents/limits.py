"""What an organisation may start and have: asked under its lock, so that two requests cannot both
take the last slot."""

from django.db.models import Sum

from controlplane.agents.errors import AgentLimitReached, DiskLimitReached, MemoryLimitReached
from controlplane.agents.models import Agent, Release
from controlplane.agents.rules import Settings
from controlplane.tenants.errors import OrganisationPaused
from controlplane.tenants.models import Organisation


def lock(organisation: Organisation) -> Organisation:
    """First of all locks, as everywhere. Limits are counted, and keys given to agents, under it."""
    return Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)


def refuse_paused(organisation: Organisation) -> None:
    if organisation.paused_reason:
        raise OrganisationPaused(organisation.name, organisation.paused_reason)


def refuse_over_limits(
    organisation: Organisation, spec: Settings | Release, replacing: Release | None = None
) -> None:
    agents = Agent.objects.of(organisation)
    if replacing is None and agents.count() >= organisation.agent_limit:
        raise AgentLimitReached(organisation.agent_limit)
    others = agents.exclude(release=replacing) if replacing else agents
    used = others.aggregate(memory=Sum("release__memory_mb"), disk=Sum("release__disk_gib"))
    memory, disk = used["memory"] or 0, used["disk"] or 0
    if memory + spec.memory_mb > organisation.memory_mb_limit:
        raise MemoryLimitReached(organisation.memory_mb_limit, memory, spec.memory_mb)
    if disk + spec.disk_gib > organisation.disk_gib_limit:
        raise DiskLimitReached(organisation.disk_gib_limit, disk, spec.disk_gib)
