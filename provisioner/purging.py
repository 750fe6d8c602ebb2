"""The end of a deleted agent: all of it goes for good, and the audit log keeps a receipt."""

import logging
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Sum
from django.utils.timezone import now

from controlplane.agents.lease import Lease
from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.models import Agent
from controlplane.audit.actor import SYSTEM
from controlplane.audit.record import record
from controlplane.jobs.models import JobStatus
from provisioner import delivery, names, older
from provisioner.backend import Backend
from provisioner.offsite import place
from provisioner.offsite.errors import OffsiteError
from provisioner.portability import tidying
from provisioner.snapshots import keeping

log = logging.getLogger(__name__)

SOON = timedelta(seconds=5)  # before one that is still being copied is looked at again
LATER = timedelta(minutes=10)  # before what could not be removed off-site is tried again


def is_due(agent: Agent) -> bool:
    gone = agent.goal == Goal.DELETED and agent.status == Status.DELETED
    return gone and agent.purge_at is not None and now() >= agent.purge_at


def purge_or_later(lease: Lease, agent: Agent, backend: Backend) -> None:
    """Raises RowIsOlder, VaultUnavailable, EngineUnavailable, WorkspaceTrouble, LeaseLost."""
    try:
        purge(agent, backend)
    except keeping.StillCopying:
        lease.write(due_at=now() + SOON)
    except OffsiteError as error:
        log.warning("%s is not gone for good yet: %s", agent.pk, error)
        lease.write(due_at=now() + LATER)


def purge(agent: Agent, backend: Backend) -> None:
    """After the grace period: secrets, off-site copies, disk and row are gone for good.

    The vault is first: while it is away, no off-site copy goes that the receipt would not count.
    The disk goes while the row is locked: nobody brings back an agent whose disk is gone.
    """
    older.refuse_purge(backend, agent)
    receipt = _receipt(agent, backend)
    delivery.forget(backend.vault, agent)
    receipt["offsite"]["objects"] = keeping.remove_agent(agent)
    tidying.remove_agent(agent)
    with transaction.atomic():
        locked = Agent.objects.select_for_update().get(pk=agent.pk)
        if not is_due(locked):
            return
        backend.workspaces.destroy(agent.pk)
        record(
            SYSTEM,
            "agent.purged",
            agent.pk,
            organisation=agent.organisation_id,
            label=agent.name,
            data=receipt,
        )
        Agent.objects.filter(pk=agent.pk).update(release=None)
        agent.delete()


def _receipt(agent: Agent, backend: Backend) -> dict[str, Any]:
    """What there was of it, by what it was called and how much it was; sizes in bytes."""
    kept, clones = backend.workspaces.kept(agent.pk), backend.workspaces.clones
    taken = agent.snapshots.filter(status=JobStatus.DONE).aggregate(
        count=Count("pk"), files=Sum("bytes")
    )
    shipped = agent.snapshots.exclude(offsite_id="").aggregate(
        count=Count("pk"), sent=Sum("offsite_bytes")
    )
    where = place.prefix(agent.organisation_id, agent.pk)
    return {
        "grace_seconds": settings.ROOST_DELETE_GRACE_SECONDS,
        "created_at": agent.created_at.isoformat(),
        "deleted_at": agent.deleted_at.isoformat() if agent.deleted_at else None,
        "container": names.container(agent.pk),
        "address": agent.address,
        "workspace": {
            "node": agent.node,
            "bytes": kept.disk.stat().st_blocks * 512 if kept.disk else agent.disk_used,
            "copies": len(clones.known(agent.pk)) if clones else 0,
        },
        "snapshots": {"count": taken["count"], "bytes": taken["files"] or 0},
        "offsite": {
            "store": f"{settings.S3_BUCKET}/{where}" if settings.S3_ENDPOINT_URL else None,
            "snapshots": shipped["count"],
            "bytes_sent": shipped["sent"] or 0,
        },
        "vault": [delivery.vault_path(agent.pk)],
        "rows": {
            "releases": agent.releases.count(),
            "timeline": agent.events.count(),
            "drills": agent.drills.count(),
            "scans": agent.scans.count(),
            "restores": agent.restores.count(),
            "upgrades": agent.upgrades.count(),
            "exports": agent.exports.count(),
        },
    }
