"""One trial restore, from claim to outcome: bring the copy to a scratch disk, compare, forget.

The scratch disk bears the trial's own name: whoever goes on after a kill begins it anew, and what
nobody goes on with is taken away by `snapshots.scratch`. No workspace and no copy is touched.
"""

import time

from django.db import transaction

from controlplane.jobs.claim import Claim
from controlplane.keys.vault import VaultUnavailable
from controlplane.snapshots.models import Snapshot
from controlplane.trials.models import Outcome, TrialRestore
from provisioner.backend import Backend
from provisioner.offsite import place
from provisioner.offsite.errors import (
    Damaged,
    OffsiteError,
    RepositoryMissing,
    SnapshotMissing,
    WrongPassword,
)
from provisioner.snapshots import manifest, ship, take
from provisioner.trials import alarm
from provisioner.trials.comparing import Compared, compare
from provisioner.workspaces.base import Clones, PoolFull, WorkspaceTrouble

GIBIBYTE = 1024**3
# The store answered, and what it has is not what was put there.
LOST = (Damaged, RepositoryMissing, SnapshotMissing, WrongPassword)
GONE = "The snapshot was deleted meanwhile, so there is nothing to bring back. Nothing is wrong."
TODO = (
    "Nothing was touched. Take another snapshot now, have your operator look at the off-site "
    "store, then delete this one."
)


def run(claim: Claim, backend: Backend) -> None:
    """Raises ClaimLost."""
    trial = TrialRestore.objects.select_related("agent", "snapshot").get(pk=claim.job_id)
    clones = backend.workspaces.clones
    if clones is None:
        _not_run(claim, trial, "no_snapshots_here", take.PLAIN)
        return
    why = place.why_not()
    if why is not None:
        _not_run(claim, trial, "no_offsite_store", why)
        return
    try:
        _refuse_full(backend, trial.snapshot)
        _try(claim, backend, clones, trial)
    except LOST as lost:
        _lost(claim, trial, lost)
    except (OffsiteError, VaultUnavailable) as trouble:
        _not_run(claim, trial, trouble.code, str(trouble))
    except WorkspaceTrouble as trouble:
        _not_run(claim, trial, take.reason_of(trouble), str(trouble))


def _refuse_full(backend: Backend, snapshot: Snapshot) -> None:
    """Before anything is brought: a trial is not worth the room that workspaces write to."""
    room = backend.workspaces.room()
    if room is not None and room.free - snapshot.bytes < room.reserve:
        raise PoolFull(room.free / GIBIBYTE, snapshot.bytes / GIBIBYTE)


def _try(claim: Claim, backend: Backend, clones: Clones, trial: TrialRestore) -> None:
    snapshot, began = trial.snapshot, time.monotonic()
    store = ship.repository(backend, snapshot)
    claim.write(step="bringing")
    with clones.scratch(trial.pk, snapshot.disk_gib, needs=snapshot.bytes) as root:
        store.fetch(snapshot.offsite_id, root / "data")
        claim.write(step="comparing")
        try:
            found = manifest.of(root / "data")
        except OSError as error:
            raise WorkspaceTrouble(f"What came back cannot be read: {error}.") from error
    seen = {"took_ms": _since(began), "files": found.files, "bytes": found.size}
    compared = compare(clones, snapshot, found)
    if compared.equal:
        _equal(claim, trial, seen)
    else:
        _differs(claim, trial, compared, seen)


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


# --- its end ----------------------------------------------------------------------------------
def _equal(claim: Claim, trial: TrialRestore, seen: dict[str, int]) -> None:
    detail = f"{seen['files']} files, each with the hash it had, in {seen['took_ms'] / 1000:.1f} s"
    with transaction.atomic():
        claim.finish(step="", outcome=Outcome.EQUAL, **seen)
        alarm.all_clear(trial, detail)


def _differs(claim: Claim, trial: TrialRestore, compared: Compared, seen: dict[str, int]) -> None:
    message = f"Snapshot {trial.snapshot_id} is not what it was off-site: {compared}. {TODO}"
    _fail(claim, trial, "not_as_it_was", message, differences=compared.differences, **seen)


def _lost(claim: Claim, trial: TrialRestore, lost: OffsiteError) -> None:
    if Snapshot.objects.kept().filter(pk=trial.snapshot_id).exists():
        message = f"Snapshot {trial.snapshot_id} could not be brought back: {lost} {TODO}"
        _fail(claim, trial, lost.code, message)
    else:
        _not_run(claim, trial, "snapshot_gone", GONE)


def _fail(claim: Claim, trial: TrialRestore, reason: str, message: str, **columns: object) -> None:
    with transaction.atomic():
        claim.finish(
            step="", outcome=Outcome.DIFFERS, reason=reason, message=message[:500], **columns
        )
        alarm.ring(trial, reason, message)


def _not_run(claim: Claim, trial: TrialRestore, reason: str, message: str) -> None:
    """Nobody is alarmed: what an earlier one said still stands."""
    claim.fail(reason, message, step="", outcome=Outcome.NOT_RUN)
