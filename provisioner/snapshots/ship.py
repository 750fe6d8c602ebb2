"""The off-site copy of a snapshot: sent, read back, compared; and brought home when it is needed.

A copy counts once it was read back whole. What it is compared with is the manifest that was made
of the copy on the node, file by file.
"""

from pathlib import Path

from controlplane.jobs.claim import Claim
from controlplane.jobs.dispatch import request_job
from controlplane.jobs.models import JobStatus
from controlplane.snapshots.models import Snapshot
from provisioner.backend import Backend
from provisioner.offsite import place
from provisioner.offsite.errors import RepositoryMissing
from provisioner.offsite.restic import Repository, Stored
from provisioner.snapshots import manifest
from provisioner.snapshots.difference import difference
from provisioner.snapshots.manifest import Manifest
from provisioner.workspaces.base import Clones, WorkspaceTrouble


class NotAsItWas(WorkspaceTrouble):
    """A copy is not what its manifest says: cut off, altered, or a disk fails."""

    def __init__(self, where: str, seen: str = "") -> None:
        super().__init__(
            f"The {where} is not what it was when the snapshot was taken{f': {seen}' * bool(seen)}."
            " It was not used. Choose another snapshot, and tell your operator."
        )


def ship_later(snapshot: Snapshot) -> None:
    """One that is done on the node goes off-site as others do, in its own time, where there is a
    store. Call inside a transaction."""
    if place.why_not() is not None:
        return
    rows = Snapshot.objects.kept().filter(pk=snapshot.pk, status=JobStatus.DONE, verified_at=None)
    if rows.update(status=JobStatus.PENDING, finished_at=None, attempts=0):
        request_job(snapshot)


def repository(backend: Backend, snapshot: Snapshot) -> Repository:
    """Raises VaultUnavailable."""
    agent = snapshot.agent
    return place.repository(backend.vault, agent.organisation_id, agent.pk)


def send(claim: Claim, store: Repository, clones: Clones, snapshot: Snapshot) -> None:
    """Twice equals once, also when the first was killed before it could say so. Raises
    OffsiteError, WorkspaceTrouble."""
    parent = _newest(snapshot)
    # Each run of restic takes as long as a small snapshot, so nothing is asked in vain.
    if not parent or snapshot.attempts > 1:
        store.ensure()
        before = next((one for one in store.snapshots() if snapshot.pk in one.tags), None)
        if before is not None:
            _note(claim, snapshot, before.id, snapshot.offsite_bytes)
            return
    with clones.opened(snapshot.agent_id, snapshot.pk) as root:
        stored = _backup(store, root / "data", snapshot.pk, parent)
    _note(claim, snapshot, stored.id, stored.bytes_added)


def _newest(snapshot: Snapshot) -> str:
    """The store's name of the agent's last snapshot there: what it holds is not read again."""
    rows = Snapshot.objects.filter(agent=snapshot.agent_id, removed_at=None)
    sent = rows.exclude(verified_at=None).exclude(offsite_id="").exclude(pk=snapshot.pk)
    return sent.order_by("-created_at").values_list("offsite_id", flat=True).first() or ""


def _backup(store: Repository, folder: Path, tag: str, parent: str) -> Stored:
    try:
        return store.backup(folder, tag=tag, parent=parent)
    except RepositoryMissing:  # the store was emptied since
        store.ensure()
        return store.backup(folder, tag=tag)


def _note(claim: Claim, snapshot: Snapshot, store_id: str, added: int) -> None:
    claim.write(offsite_id=store_id, offsite_bytes=added)
    snapshot.offsite_id = store_id


def read_back(store: Repository, clones: Clones, snapshot: Snapshot, wanted: Manifest) -> None:
    """Raises OffsiteError, NotAsItWas."""
    with clones.scratch(snapshot.pk, snapshot.disk_gib, needs=wanted.size) as root:
        store.fetch(snapshot.offsite_id, root / "data")
        seen = difference(wanted, manifest.of(root / "data"))
    if not seen.nothing:
        raise NotAsItWas("off-site copy", str(seen))


def bring(backend: Backend, clones: Clones, snapshot: Snapshot) -> None:
    """The copy on the node is gone: make it anew from the off-site one. Raises OffsiteError,
    VaultUnavailable, NotAsItWas, PoolFull."""
    store = repository(backend, snapshot)
    size, needs = snapshot.disk_gib, snapshot.bytes
    with clones.filled(snapshot.agent_id, snapshot.pk, size, needs=needs) as root:
        store.fetch(snapshot.offsite_id, root / "data")
        found = manifest.of(root / "data")
        if found.digest != snapshot.manifest_sha256:
            raise NotAsItWas("off-site copy")
    found.write(clones.manifest(snapshot.agent_id, snapshot.pk))
    Snapshot.objects.filter(pk=snapshot.pk).update(on_node=True)
