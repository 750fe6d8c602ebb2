"""One export, from claim to done: prove the snapshot, pack it into the store, read it back.

Half an archive is never there: an upload that ends early leaves nothing, and what a killed worker
left is taken away first. Done means that what came back has the hash of what was sent.
"""

import hashlib
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.timezone import now

from controlplane.agents.models import Level
from controlplane.agents.releases import release_of
from controlplane.agents.timeline import tell
from controlplane.jobs.claim import Claim, ClaimLost
from controlplane.keys.vault import VaultUnavailable
from controlplane.portability.errors import NoStore
from controlplane.portability.models import Export
from controlplane.snapshots.actions import forget
from controlplane.snapshots.models import Origin, Snapshot
from provisioner.backend import Backend
from provisioner.offsite import objects, place
from provisioner.offsite.errors import Damaged, OffsiteError
from provisioner.portability.archive import content_digest, packed
from provisioner.snapshots import proof, take
from provisioner.snapshots.manifest import Manifest
from provisioner.workspaces.base import Clones, WorkspaceTrouble

FORMAT = 1
GONE = "Its snapshot was deleted meanwhile, so there is nothing to export. Ask for another one."
UNHARMED = "The agent was not disturbed."


def run(claim: Claim, backend: Backend) -> None:
    """Raises ClaimLost."""
    related = ("agent", "agent__release", "snapshot", "snapshot__agent")
    export = Export.objects.select_related(*related).get(pk=claim.job_id)
    clones = backend.workspaces.clones
    if clones is None:
        _fail(claim, export, "no_snapshots_here", take.PLAIN)
        return
    if not settings.S3_ENDPOINT_URL:
        _fail(claim, export, NoStore.code, str(NoStore()))
        return
    try:
        if not export.sha256:
            snapshot = _snapshot(claim, clones, export)
            _check(claim, backend, clones, snapshot)
            _send(claim, backend, clones, export, snapshot)
    except WorkspaceTrouble as trouble:
        _fail(claim, export, take.reason_of(trouble), f"{trouble} {UNHARMED}")
    except (OffsiteError, VaultUnavailable) as trouble:
        _fail(claim, export, trouble.code, f"{trouble} {UNHARMED}")
    else:
        _done(claim, export)


def _snapshot(claim: Claim, clones: Clones, export: Export) -> Snapshot:
    """The one that was chosen, or one that is taken now. Raises WorkspaceTrouble, ClaimLost."""
    claim.write(step="copying")
    snapshot = export.snapshot
    if snapshot is not None and snapshot.deleted_at is not None:
        raise WorkspaceTrouble(GONE)
    if snapshot is None or (snapshot.origin == Origin.EXPORT and not snapshot.manifest_sha256):
        by = export.requested_by
        snapshot = take.for_job(claim.write, clones, export.agent, Origin.EXPORT, by, snapshot)
        export.snapshot = snapshot
    claim.write(taken_at=snapshot.taken_at)
    export.taken_at = snapshot.taken_at
    return snapshot


def _check(claim: Claim, backend: Backend, clones: Clones, snapshot: Snapshot) -> None:
    """Raises CloneMissing, NotAsItWas, OffsiteError, VaultUnavailable."""
    claim.write(step="checking")
    proof.prove(backend, clones, snapshot)


def _send(
    claim: Claim, backend: Backend, clones: Clones, export: Export, snapshot: Snapshot
) -> None:
    claim.write(step="sending")
    key, store = key_of(export), place.bucket()
    place.forget_object(key)
    found = proof.listed(backend, clones, snapshot)
    with (
        clones.opened(snapshot.agent_id, snapshot.pk) as root,
        packed(root, found, about(export, snapshot, found)) as archive,
    ):
        objects.put_stream(store, archive, key)
    try:
        claim.write(step="reading_back")
        read = hashlib.sha256()
        with objects.opened(store, key) as pieces:
            for piece in pieces:
                read.update(piece)
        if read.hexdigest() != archive.sha256:
            raise Damaged("the archive has another hash than what was sent")
        claim.write(sha256=archive.sha256, bytes=archive.bytes)
    except ClaimLost:
        # Given up, or its agent is gone for good: the tidying has been here, and comes no more.
        if not Export.objects.under_way().filter(pk=export.pk).exists():
            place.forget_object(key)
        raise
    export.sha256, export.bytes = archive.sha256, archive.bytes


def about(export: Export, snapshot: Snapshot, found: Manifest) -> dict[str, Any]:
    """What the archive says of itself: nothing that only the vault may know."""
    agent = export.agent
    release = agent.releases.filter(number=snapshot.release).first() or release_of(agent)
    return {
        "format": FORMAT,
        "agent": agent.name,
        "runtime": agent.runtime,
        "runtime_version": release.runtime_version,
        "taken_at": snapshot.taken_at.isoformat() if snapshot.taken_at else None,
        "files": found.files,
        "bytes": found.size,
        "manifest_sha256": found.digest,
        "content_sha256": content_digest(found),
    }


def key_of(export: Export) -> str:
    return place.export_key(export.agent.organisation_id, export.agent_id, export.pk)


def _done(claim: Claim, export: Export) -> None:
    kept = timedelta(seconds=settings.ROOST_EXPORT_KEEP_SECONDS)
    with transaction.atomic():
        claim.finish(step="", kept_until=now() + kept)
        let_go(export)
        detail = f"{export.bytes / 1024**2:.1f} MiB, read back and compared"
        tell(export.agent, "export.done", "An export is ready", detail=detail, level=Level.OK)


def _fail(claim: Claim, export: Export, reason: str, message: str) -> None:
    with transaction.atomic():
        claim.fail(reason, message, step="", kept_until=now())
        let_go(export)
        title = "An export could not be made"
        tell(export.agent, "export.failed", title, detail=message, level=Level.WARN)


def let_go(export: Export) -> None:
    """A snapshot that was taken for it alone is needed no more."""
    snapshot = export.snapshot
    if snapshot is not None and snapshot.origin == Origin.EXPORT and snapshot.deleted_at is None:
        forget(snapshot)
