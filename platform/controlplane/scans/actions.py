"""What people can do: start a scan."""

from django.db import IntegrityError, transaction

from controlplane.agents.models import Agent
from controlplane.agents.timeline import tell
from controlplane.audit.record import record
from controlplane.jobs.dispatch import request_job
from controlplane.scans.models import Scan
from controlplane.tenants.access import Access

# Of one agent; a report of a few hundred lines each.
KEPT = 50


def start_scan(access: Access, agent: Agent) -> Scan:
    """Look for this agent's live secrets. The one that is under way, where there is one."""
    access.require("agents:write")
    with transaction.atomic():
        try:
            with transaction.atomic():
                scan = Scan.objects.create(agent=agent, requested_by=access.actor.label)
        except IntegrityError:
            return Scan.objects.under_way().get(agent=agent)
        _forget_old(agent)
        tell(agent, "scan.asked", "A search for credentials was asked for", actor=scan.requested_by)
        record(
            access.actor,
            "agent.scanned",
            agent.pk,
            organisation=agent.organisation_id,
            label=agent.name,
            data={"scan": scan.pk},
        )
        request_job(scan)
    return scan


def _forget_old(agent: Agent) -> None:
    """The newest that found something stays: the alarm speaks of it."""
    rows = Scan.objects.filter(agent=agent).order_by("-created_at", "-pk")
    newest = list(rows.values_list("pk", flat=True)[:KEPT])
    telling = list(rows.filter(findings__gt=0).values_list("pk", flat=True)[:1])
    rows.exclude(pk__in=[*newest, *telling]).delete()
