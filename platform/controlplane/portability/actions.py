"""What people can do: take a workspace along, and begin an agent with one that they bring."""

from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.timezone import now

from controlplane.agents.actions import create_agent
from controlplane.agents.limits import lock
from controlplane.agents.models import Agent
from controlplane.agents.rules import runtime_of
from controlplane.agents.sizes import DEFAULT_DISK_GIB
from controlplane.agents.timeline import tell
from controlplane.audit.record import record
from controlplane.jobs.dispatch import request_job
from controlplane.jobs.models import JobStatus
from controlplane.portability.errors import (
    ExportUnderWay,
    NoStore,
    NotImportable,
    TooManyImports,
)
from controlplane.portability.models import Export, Import
from controlplane.snapshots.errors import NothingToSnapshot, SnapshotNotUsable
from controlplane.snapshots.models import Snapshot
from controlplane.tenants.access import Access

OPEN_FOR = timedelta(hours=24)  # a place to upload to
MOST_OPEN = 5  # of one organisation
KEPT = 50  # rows of an agent's exports
MOST_BEFORE = 2  # archives of an agent that stay when another is asked for


def export_workspace(access: Access, agent: Agent, *, snapshot: Snapshot | None = None) -> Export:
    """As one file to download: of this snapshot, or of the workspace as it is now. Raises NoStore,
    NothingToSnapshot, SnapshotNotUsable, ExportUnderWay."""
    access.require("agents:write")
    _refuse_without_store()
    if agent.workspace_made_at is None:
        raise NothingToSnapshot(agent.name)
    if snapshot is not None and not snapshot.usable:
        raise SnapshotNotUsable(snapshot.message)
    with transaction.atomic():
        try:
            with transaction.atomic():
                export = Export.objects.create(
                    agent=agent, snapshot=snapshot, requested_by=access.actor.label
                )
        except IntegrityError as error:
            raise ExportUnderWay(agent.name) from error
        _end_others(agent)
        _forget_old(agent)
        tell(agent, "export.asked", "An export was asked for", actor=access.actor.label)
        record(
            access.actor,
            "agent.exported",
            agent.pk,
            organisation=agent.organisation_id,
            label=agent.name,
            data={"export": export.pk, "snapshot": snapshot.pk if snapshot else ""},
        )
        request_job(export)
    return export


def open_import(access: Access) -> Import:
    """A place to upload an archive to. Raises NoStore, TooManyImports."""
    access.require("agents:write")
    _refuse_without_store()
    with transaction.atomic():
        organisation = lock(access.organisation)
        unused = Import.objects.of(organisation).filter(agent=None, expires_at__gt=now())
        if unused.count() >= MOST_OPEN:
            raise TooManyImports(MOST_OPEN)
        found = Import.objects.create(
            organisation=organisation,
            requested_by=access.actor.label,
            expires_at=now() + OPEN_FOR,
        )
        record(
            access.actor,
            "import.opened",
            found.pk,
            organisation=organisation.pk,
            label=found.pk,
            data={},
        )
    return found


def begin_agent(
    access: Access,
    found: Import,
    *,
    name: str,
    runtime: str,
    key: str | None = None,
    model: str = "",
    size: str = "",
    disk_gib: int = DEFAULT_DISK_GIB,
    egress: str | None = None,
    egress_hosts: Sequence[str] = (),
    isolation: str = "default",
    background: bool = False,
    secrets: Sequence[str] = (),
) -> Agent:
    """A new agent whose workspace is what was uploaded. It waits until that is unpacked. Raises
    what creating an agent raises, and ImportUsed, ImportExpired, NotImportable."""
    access.require("agents:write")
    manifest = runtime_of(runtime)
    if manifest.setup is not None:
        raise NotImportable(manifest.title)
    with transaction.atomic():
        lock(access.organisation)
        locked = Import.objects.select_for_update(of=("self",)).get(pk=found.pk)
        locked.refuse_closed()
        agent = create_agent(
            access,
            name=name,
            runtime=runtime,
            key=key,
            model=model,
            size=size,
            disk_gib=disk_gib,
            egress=egress,
            egress_hosts=egress_hosts,
            isolation=isolation,
            background=background,
            secrets=secrets,
            origin=locked.becomes,
        )
        locked.agent = agent
        locked.save(update_fields=["agent"])
        tell(agent, "import.asked", "It begins with an import", actor=access.actor.label)
        record(
            access.actor,
            "agent.imported",
            agent.pk,
            organisation=agent.organisation_id,
            label=agent.name,
            data={"import": locked.pk},
        )
        request_job(locked)
    return agent


def _refuse_without_store() -> None:
    if not settings.ROOST_ARCHIVES:
        raise NoStore


def _end_others(agent: Agent) -> None:
    """All but its newest are removed by the node's next round: the store has other guests."""
    rows = Export.objects.filter(agent=agent, status=JobStatus.DONE, removed_at=None)
    newest = list(rows.order_by("-created_at", "-pk").values_list("pk", flat=True)[:MOST_BEFORE])
    rows.exclude(pk__in=newest).filter(kept_until__gt=now()).update(kept_until=now())


def _forget_old(agent: Agent) -> None:
    """The rows of archives that are long gone."""
    rows = Export.objects.filter(agent=agent).order_by("-created_at", "-pk")
    newest = list(rows.values_list("pk", flat=True)[:KEPT])
    rows.exclude(pk__in=newest).exclude(removed_at=None).delete()
