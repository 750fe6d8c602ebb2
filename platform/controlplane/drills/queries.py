"""Reads that more than one caller needs. Each starts at the organisation."""

from django.db.models import QuerySet

from controlplane.agents.models import Agent
from controlplane.drills.models import Drill, DrillPlan
from controlplane.errors import NotFound
from controlplane.tenants.access import Access


def drills_of(access: Access, agent: Agent) -> QuerySet[Drill]:
    """Newest first."""
    rows = Drill.objects.of(access.organisation).filter(agent=agent)
    return rows.order_by("-created_at", "-pk")


def get_drill(access: Access, agent: Agent, drill_id: str) -> Drill:
    """Raises NotFound, also for other agents' drills."""
    found = drills_of(access, agent).filter(pk=drill_id).first()
    if found is None:
        raise NotFound("This drill")
    return found


def plan_of(access: Access, agent: Agent) -> DrillPlan | None:
    rows = DrillPlan.objects.filter(agent__organisation=access.organisation)
    return rows.filter(agent=agent).first()
