"""Reads that more than one caller needs. Each starts at the organisation."""

from django.db.models import QuerySet

from controlplane.agents.models import Agent
from controlplane.errors import NotFound
from controlplane.scans.models import Scan
from controlplane.tenants.access import Access


def scans_of(access: Access, agent: Agent) -> QuerySet[Scan]:
    """Newest first, without the reports, which are long."""
    rows = Scan.objects.of(access.organisation).filter(agent=agent)
    return rows.defer("report").order_by("-created_at", "-pk")


def get_scan(access: Access, agent: Agent, scan_id: str) -> Scan:
    """Raises NotFound, also for other agents' scans."""
    scan = Scan.objects.of(access.organisation).filter(agent=agent, pk=scan_id).first()
    if scan is None:
        raise NotFound("This scan")
    return scan
