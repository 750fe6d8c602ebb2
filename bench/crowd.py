"""Many agents on the shipped fake engine, made as people and workers make them."""

from collections.abc import Iterator

from controlplane.agents.actions import create_agent
from controlplane.agents.lifecycle import Status
from controlplane.agents.models import Agent
from controlplane.audit.actor import SYSTEM
from controlplane.tenants.access import Access, of_member
from controlplane.tenants.actions import create_organisation
from controlplane.tenants.models import Organisation, User
from provisioner.backend import Backend
from provisioner.reconcile import reconcile

EACH = 10  # agents of one organisation


def tenant(slug: str, agents: int) -> Access:
    """An organisation with room for that many."""
    owner = User.objects.create_user(f"{slug}@example.test", name=slug)
    made = create_organisation(name=slug.title(), slug=slug, owner=owner, by=SYSTEM)
    Organisation.objects.filter(pk=made.pk).update(
        agent_limit=agents, memory_mb_limit=agents * 1024, disk_gib_limit=agents
    )
    return of_member(owner, id=made.pk)


def settle(backend: Backend, count: int) -> None:
    """Create agents until there are `count`, and bring each to where it stays."""
    have = Agent.objects.count()
    for number, access in enumerate(_tenants(have, count), have):
        agent = create_agent(access, name=f"a{number}", runtime="hermes", disk_gib=1, egress="none")
        reconcile(agent.pk, backend)
    check_settled()


def check_settled() -> None:
    unsettled = [agent for agent in Agent.objects.all() if agent.status != Status.RUNNING]
    assert not unsettled, f"{len(unsettled)} agents do not run, such as {unsettled[0].message}"


def _tenants(have: int, count: int) -> Iterator[Access]:
    for number in range(have, count, EACH):
        access = tenant(f"tenant-{number}", EACH)
        for _ in range(min(EACH, count - number)):
            yield access
