"""Reads that more than one caller needs. Each starts at the organisation."""

from django.db.models import QuerySet

from controlplane.agents.models import Agent
from controlplane.errors import NotFound
from controlplane.portability.models import Export, Import
from controlplane.tenants.access import Access


def exports_of(access: Access, agent: Agent) -> QuerySet[Export]:
    """Newest first."""
    rows = Export.objects.of(access.organisation).filter(agent=agent).select_related("agent")
    return rows.order_by("-created_at", "-pk")


def get_export(access: Access, agent: Agent, export_id: str) -> Export:
    """Raises NotFound, also for other agents' exports."""
    found = exports_of(access, agent).filter(pk=export_id).first()
    if found is None:
        raise NotFound("This export")
    return found


def imports_of(access: Access) -> QuerySet[Import]:
    """Newest first."""
    return Import.objects.of(access.organisation).order_by("-created_at", "-pk")


def get_import(access: Access, import_id: str) -> Import:
    """Raises NotFound."""
    found = imports_of(access).filter(pk=import_id).select_related("agent").first()
    if found is None:
        raise NotFound("This import")
    return found
