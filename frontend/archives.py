"""What the pages say of exports and imports."""

from dataclasses import dataclass

from controlplane.jobs.models import JobStatus
from controlplane.portability.models import Export
from frontend.looks import Look, look_of

# The words of provisioner.portability.export, in its order.
STEPS = {
    "": "Waiting for its node",
    "copying": "Taking a snapshot",
    "checking": "Checking the copy, file by file",
    "sending": "Packing it into the store",
    "reading_back": "Reading the archive back and comparing",
}
READY = Look("ok", "running", "Ready")
GONE = Look("idle", "stopped", "Removed")
FAILED = Look("bad", "failed", "Failed")
RUNNING = Look("busy", "starting", "Under way", spins=True)


@dataclass(frozen=True)
class Archive:
    """One line of the list of exports."""

    export: Export
    look: Look
    step: str  # what is done now; "" once it is over


def archive_of(export: Export) -> Archive:
    step = STEPS.get(export.step, STEPS[""]) if export.under_way else ""
    return Archive(export, _look(export), step)


def _look(export: Export) -> Look:
    match JobStatus(export.status):
        case JobStatus.DONE:
            return READY if export.ready else GONE
        case JobStatus.FAILED:
            return FAILED
        case JobStatus.PENDING:
            return look_of("pending")
    return RUNNING
