"""One snapshot, from claim to done: copy, list with hashes, ship, read back.

Every step is looked at before it is taken, so a worker that died in one is followed by another
that goes on there. The copy on the node is worth something by itself: what fails afterwards says
so and leaves it.
"""

from collections.abc import Callable

from django.db import transaction
from django.utils.timezone import now

from controlplane.agents.models import Agent, Level
from controlplane.agents.timeline import tell
from controlplane.jobs.claim import Claim
from controlplane.jobs.models import JobStatus
from controlplane.keys.vault import VaultUnavailable
from controlplane.snapshots.actions import new_snapshot
from controlplane.snapshots.models import Origin, Snapshot
from provisioner.backend import Backend
from provisioner.offsite import place
from provisioner.offsite.errors import OffsiteError
from provisioner.snapshots import manifest, ship
from provisioner.snapshots.manifest import Manifest
from provisioner.workspaces.base import Clones, PoolFull, WorkspaceLost, WorkspaceTrouble
from provisioner.workspaces.files import GIBIBYTE

Write = Callable[..., None]  # of columns of the snapshot's row

KEPT_HERE = "The copy on the node is whole and can be used; the agent was not disturbed."
PLAIN = (
    "This node keeps workspaces as plain directories, which it cannot take snapshots of. Ask your "
    "operator for a node with the loop driver."
)

MOST_HOLES = 8  # times the disk that files with holes may claim to be
HOLES = (
    "Its files claim to be {} altogether, far more than its disk holds: some consist of holes. "
    "Remove those, or give the workspace a larger disk."
)


def run(claim: Claim, backend: Backend) -> None:
    """Raises ClaimLost."""
    snapshot = Snapshot.objects.select_related("agent").get(pk=claim.job_id)
    clones = backend.workspaces.clones
    if clones is None:
        _fail(claim, snapshot, "no_snapshots_here", PLAIN)
        return
    try:
        copy(claim.write, clones, snapshot)
        # Open for both, so that what was read for the list is sent from memory.
        with clones.opened(snapshot.agent_id, snapshot.pk):
            found = list_files(claim.write, clones, snapshot)
            if place.why_not() is None:
                _ship(claim, backend, clones, snapshot, found)
    except WorkspaceTrouble as trouble:
        _fail(claim, snapshot, reason_of(trouble), str(trouble))
    except (OffsiteError, VaultUnavailable) as trouble:
        _fail(claim, snapshot, trouble.code, f"{trouble} {KEPT_HERE}")
    else:
        _done(claim, snapshot, found)


def reason_of(trouble: WorkspaceTrouble) -> str:
    reasons = {WorkspaceLost: "workspace_lost", PoolFull: "pool_full"}
    return reasons.get(type(trouble), "workspace_trouble")


def copy(write: Write, clones: Clones, snapshot: Snapshot) -> None:
    """On the node. Twice equals once. Raises WorkspaceTrouble."""
    if snapshot.on_node and clones.has(snapshot.agent_id, snapshot.pk):
        return
    write(step="copying")
    held = clones.take(snapshot.agent_id, snapshot.pk)
    taken = snapshot.taken_at or now()
    write(on_node=True, taken_at=taken, held_ms=round(held * 1000))
    snapshot.on_node, snapshot.taken_at = True, taken


def list_files(write: Write, clones: Clones, snapshot: Snapshot) -> Manifest:
    """With the hash of each, beside the copy. Raises WorkspaceTrouble."""
    write(step="listing")
    try:
        with clones.opened(snapshot.agent_id, snapshot.pk) as root:
            found = manifest.of(root / "data", most=MOST_HOLES * snapshot.disk_gib * GIBIBYTE)
    except manifest.TooLarge as error:
        # Good for nothing, and it would hold what the agent has long removed.
        clones.drop(snapshot.agent_id, snapshot.pk)
        write(on_node=False)
        raise WorkspaceTrouble(HOLES.format(error)) from error
    except OSError as error:
        raise WorkspaceTrouble(f"The copy cannot be read: {error}.") from error
    found.write(clones.manifest(snapshot.agent_id, snapshot.pk))
    write(manifest_sha256=found.digest, files=found.files, bytes=found.size)
    return found


def for_job(
    note: Write, clones: Clones, agent: Agent, origin: Origin, by: str, before: Snapshot | None
) -> Snapshot:
    """What another job takes for itself: done as soon as copy and list lie on the node, and not
    shipped. `note` writes columns of that job's row (`step`, and `snapshot` once); `before` is the
    snapshot of a worker that died. Raises WorkspaceTrouble, and what `note` raises."""
    step = "copying"
    note(step=step)
    snapshot = before or _added_for(note, agent, origin, by)

    def write(**columns: object) -> None:
        nonlocal step
        step = str(columns.pop("step", step))
        note(step=step)  # also sees a lost claim
        if columns:
            Snapshot.objects.filter(pk=snapshot.pk).update(**columns)

    copy(write, clones, snapshot)
    if not snapshot.manifest_sha256:
        list_files(write, clones, snapshot)
    snapshot.refresh_from_db()  # `write` tells the row alone
    return snapshot


def _added_for(note: Write, agent: Agent, origin: Origin, by: str) -> Snapshot:
    done = {"status": JobStatus.DONE, "finished_at": now()}
    with transaction.atomic():
        made = new_snapshot(agent, origin, by, **done)
        note(snapshot=made)
    return made


def _ship(
    claim: Claim, backend: Backend, clones: Clones, snapshot: Snapshot, found: Manifest
) -> None:
    if snapshot.verified_at is not None:
        return
    store = ship.repository(backend, snapshot)
    claim.write(step="shipping")
    ship.send(claim, store, clones, snapshot)
    claim.write(step="reading_back")
    ship.read_back(store, clones, snapshot, found)
    claim.write(verified_at=now())


def _done(claim: Claim, snapshot: Snapshot, found: Manifest) -> None:
    with transaction.atomic():
        claim.finish(step="")
        detail = f"{found.files} files, each with its hash"
        tell(snapshot.agent, "snapshot.taken", "A snapshot was taken", detail=detail)


def _fail(claim: Claim, snapshot: Snapshot, reason: str, message: str) -> None:
    with transaction.atomic():
        claim.fail(reason, message, step="")
        title = "A snapshot could not be taken"
        tell(snapshot.agent, "snapshot.failed", title, detail=message, level=Level.WARN)
