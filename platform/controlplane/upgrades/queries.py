"""Reads that more than one caller needs."""

from controlplane.agents.models import Agent
from controlplane.errors import NotFound
from controlplane.tenants.access import Access
from controlplane.upgrades.models import FAILED, PROVEN, Halt, Upgrade, UpgradeQuerySet

TOO_MANY = 3  # failures of an image without a success between them


def upgrades_of(access: Access, agent: Agent) -> UpgradeQuerySet:
    """Newest first."""
    rows = Upgrade.objects.of(access.organisation).filter(agent=agent)
    return rows.order_by("-created_at", "-pk")


def get_upgrade(access: Access, agent: Agent, upgrade_id: str) -> Upgrade:
    """Raises NotFound, also for other agents' upgrades."""
    found = upgrades_of(access, agent).filter(pk=upgrade_id).first()
    if found is None:
        raise NotFound("This upgrade")
    return found


def failure_of(agent: Agent, image: str) -> Upgrade | None:
    """The newest upgrade of this agent to this image, if it failed."""
    rows = Upgrade.objects.told().filter(agent=agent, to_image=image)
    newest = rows.order_by("-created_at", "-pk").first()
    return newest if newest is not None and newest.outcome in FAILED else None


def halt_of(image: str) -> Halt | None:
    return Halt.objects.filter(pk=image, lifted_at=None).first()


def failures_in_a_row(image: str) -> int:
    """Of whichever agents, since the last that ran and was kept and since an operator allowed it
    again."""
    rows = Upgrade.objects.filter(to_image=image, finished_at__isnull=False)
    kept = rows.filter(PROVEN).order_by("-finished_at").first()
    lifted = Halt.objects.filter(pk=image).values_list("lifted_at", flat=True).first()
    moments = [moment for moment in (kept and kept.finished_at, lifted) if moment]
    failed = rows.filter(outcome__in=FAILED)
    return (failed.filter(finished_at__gt=max(moments)) if moments else failed).count()
