"""Reads that more than one caller needs. Each starts at the organisation."""

from django.db.models import QuerySet

from controlplane.agents.models import Agent
from controlplane.errors import NotFound
from controlplane.snapshots.models import Restore, Snapshot
from controlplane.tenants.access import Access


def snapshots_of(access: Access, agent: Agent) -> QuerySet[Snapshot]:
    """Newest first."""
    rows = Snapshot.objects.of(access.organisation).kept().filter(agent=agent)
    return rows.order_by("-created_at", "-pk")


def get_snapshot(access: Access, agent: Agent, snapshot_id: str) -> Snapshot:
    """Raises NotFound, also for other agents' snapshots."""
    found = snapshots_of(access, agent).filter(pk=snapshot_id).select_related("agent").first()
    if found is None:
        raise NotFound("This snapshot")
    return found


def one_before(access: Access, agent: Agent, snapshot: Snapshot) -> Snapshot | None:
    """The newest earlier one whose copy on the node can be looked into."""
    rows = Snapshot.objects.of(access.organisation).usable().filter(agent=agent, on_node=True)
    moment = snapshot.taken_at or snapshot.created_at
    return rows.filter(taken_at__lt=moment).order_by("-taken_at").first()


def restores_of(access: Access, agent: Agent) -> QuerySet[Restore]:
    """Newest first."""
    rows = Restore.objects.of(access.organisation).filter(agent=agent)
    return rows.order_by("-created_at", "-pk")


def get_restore(access: Access, agent: Agent, restore_id: str) -> Restore:
    """Raises NotFound, also for other agents' restores."""
    found = restores_of(access, agent).filter(pk=restore_id).first()
    if found is None:
        raise NotFound("This restore")
    return found
