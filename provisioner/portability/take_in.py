"""One import, from claim to done: unpack into a fresh disk, prove it, and make it the agent's first
snapshot; the pass that waits for it then makes the workspace of it, as it does for a fork.

Until all of it is there and checked there is nothing: a worker that was killed leaves a half disk
that the next one throws away.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.timezone import now

from controlplane.agents.models import Level
from controlplane.agents.timeline import tell
from controlplane.jobs.claim import Claim
from controlplane.jobs.models import JobStatus
from controlplane.portability.errors import NoStore
from controlplane.portability.models import Import
from controlplane.snapshots.actions import new_snapshot
from controlplane.snapshots.models import Origin, Snapshot
from provisioner.backend import Backend
from provisioner.engines.base import EngineRefused, EngineUnavailable, ImageMissing
from provisioner.offsite import objects, place
from provisioner.offsite.errors import OffsiteError, StoreAway
from provisioner.portability import migrate
from provisioner.portability.apart import unpack
from provisioner.portability.archive import content_digest
from provisioner.portability.streams import Bad
from provisioner.snapshots import manifest, take
from provisioner.snapshots.manifest import Manifest
from provisioner.snapshots.ship import ship_later
from provisioner.workspaces.base import Clones, PoolFull, WorkspaceTrouble
from runtimes.catalog import CATALOG

GIBIBYTE = 1024**3
AGAIN = "Nothing of it was taken. Delete this agent, and import once more."
PASSING = (StoreAway, PoolFull, EngineUnavailable, ImageMissing)
PAUSE = timedelta(minutes=5)  # before it is tried again after one of these
WAITING = "It is tried again every few minutes, by itself."
NOTHING_UPLOADED = "No archive was uploaded."
ALTERED = (
    "What was unpacked is not what the archive says was exported: it was altered or cut off. "
    "Export it again."
)


def run(claim: Claim, backend: Backend) -> None:
    """Raises ClaimLost."""
    related = ("agent", "agent__release", "organisation")
    found = Import.objects.select_related(*related).get(pk=claim.job_id)
    clones = backend.workspaces.clones
    if clones is None:
        _fail(claim, found, "no_snapshots_here", take.PLAIN)
        return
    if not settings.S3_ENDPOINT_URL:
        _fail(claim, found, NoStore.code, str(NoStore()))
        return
    try:
        listed = _fill(claim, backend, clones, found)
    except Bad as why:
        _fail(claim, found, why.reason, str(why))
    except PASSING as trouble:
        reason, message = _told(trouble)
        if now() - found.begun.created_at < Import.LONGEST:
            claim.postpone(PAUSE, step="", reason=reason, message=f"{message} {WAITING}"[:500])
        else:
            _fail(claim, found, reason, f"{message} {AGAIN}")
    except (WorkspaceTrouble, OffsiteError, EngineRefused) as trouble:
        _fail(claim, found, *_told(trouble))
    else:
        _done(claim, found, listed)


def _told(trouble: Exception) -> tuple[str, str]:
    """The reason for machines, and what is said to people."""
    if isinstance(trouble, WorkspaceTrouble):
        return take.reason_of(trouble), str(trouble)
    if isinstance(trouble, OffsiteError):
        return trouble.code, str(trouble)
    return "engine_trouble", f"The engine: {trouble}"


def _fill(claim: Claim, backend: Backend, clones: Clones, found: Import) -> Manifest:
    """Raises Bad, WorkspaceTrouble, OffsiteError, EngineUnavailable, EngineRefused."""
    agent = found.begun
    assert agent.release is not None  # noqa: S101  set in the transaction that made the agent
    gib = agent.release.disk_gib
    if clones.has(agent.pk, found.becomes):
        return manifest.read(clones.manifest(agent.pk, found.becomes))
    with clones.filled(agent.pk, found.becomes, gib) as root:
        claim.write(step="unpacking")
        data = root / "data"
        told = _unpack(found, data, gib)
        claim.write(step="checking", came_from=_runtime_of(told))
        _check(told, data)
        way = migrate.needed(CATALOG[agent.runtime], data, told["base"])
        if way is not None:
            claim.write(step="migrating")
            found.report = migrate.run(backend, agent, data, told["base"], way)
            claim.write(report=found.report)
        listed = manifest.of(data)
        # Before the disk takes its name: who finds the one finds the other.
        listed.write(clones.manifest(agent.pk, found.becomes))
    return listed


def _unpack(found: Import, data: Path, gib: int) -> dict[str, Any]:
    runtime = CATALOG[found.begun.runtime]
    key = place.import_key(found.organisation_id, found.pk)
    store = place.bucket()
    if objects.size(store, key) is None:
        raise Bad("nothing_uploaded", f"{NOTHING_UPLOADED} {AGAIN}")
    with objects.opened(store, key) as pieces:
        return unpack(
            pieces,
            data,
            disk_bytes=gib * GIBIBYTE,
            runtime=runtime.slug,
            beside={slug: way.folder for slug, way in runtime.migrations.items()},
        )


def _runtime_of(told: dict[str, Any]) -> str:
    about = told["about"]
    return about["runtime"] if about and about["runtime"] in CATALOG else ""


def _check(told: dict[str, Any], data: Path) -> None:
    """One of our own exports is what was exported, file by file. Raises Bad."""
    wanted = (told["about"] or {}).get("content_sha256")
    if wanted and content_digest(manifest.of(data / told["base"])) != wanted:
        raise Bad("archive_altered", ALTERED)


def _done(claim: Claim, found: Import, listed: Manifest) -> None:
    agent = found.begun
    with transaction.atomic():
        if not Snapshot.objects.filter(pk=found.becomes).exists():
            first = new_snapshot(
                agent,
                Origin.IMPORTED,
                found.requested_by,
                pk=found.becomes,
                status=JobStatus.DONE,
                finished_at=now(),
                taken_at=now(),
                on_node=True,
                manifest_sha256=listed.digest,
                files=listed.files,
                bytes=listed.size,
            )
            ship_later(first)
        claim.finish(step="", reason="", message="", files=listed.files, bytes=listed.size)
        detail = f"{listed.files} files, {listed.size / 1024**2:.1f} MiB, unpacked and checked"
        tell(agent, "import.done", "The import is unpacked", detail=detail, level=Level.OK)


def _fail(claim: Claim, found: Import, reason: str, message: str) -> None:
    with transaction.atomic():
        claim.fail(reason, message, step="")
        title = "The import could not be used"
        tell(found.begun, "import.failed", title, detail=message, level=Level.WARN)
