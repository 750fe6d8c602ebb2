"""What the pages say of snapshots and restores: how each looks, where it lies, how far it is."""

from dataclasses import dataclass
from datetime import datetime

from controlplane.jobs.models import JobStatus
from controlplane.snapshots.models import Origin, Restore, Snapshot
from frontend.looks import Look, look_of

# The words of provisioner.snapshots.take, in its order.
STEPS = {
    "": "Waiting for its node",
    "copying": "Copying",
    "listing": "Listing its files, with a hash of each",
    "shipping": "Shipping off-site",
    "reading_back": "Reading the off-site copy back and comparing",
}
# The words of provisioner.snapshots.restore.
RESTORE_STEPS = {
    "": "Waiting for its node",
    "checking": "Checking the copy, file by file",
    "replacing": "Stopping the agent and putting the workspace in its place",
    # Of one file or folder: provisioner.snapshots.put_back.
    "keeping": "Keeping what is there now as a snapshot",
    "writing": "Putting it in its place",
}
PINS = {
    Origin.SCHEDULED: "clock",
    Origin.BEFORE_UPGRADE: "release",
    Origin.BEFORE_RESTORE: "undo",
    Origin.BEFORE_DELETE: "trash",
    Origin.DRILL: "drill",
    Origin.IMPORTED: "upload",
    Origin.EXPORT: "download",
}
DONE = Look("ok", "running", "Done")
USABLE = Look("warn", "degraded", "Not off-site")
FAILED = Look("bad", "failed", "Failed")
RUNNING = Look("busy", "starting", "Under way", spins=True)
RESTORED = Look("ok", "running", "Restored")
NOT_RESTORED = Look("bad", "failed", "Not restored")


@dataclass(frozen=True)
class Point:
    """One line of the list of points in time."""

    snapshot: Snapshot
    look: Look
    pin: str  # an icon: why it was taken
    step: str  # what is done now; "" once it is over
    where: str
    todo: str  # what to do about one that failed
    comparable: bool

    @property
    def moment(self) -> datetime:
        """When the workspace was like this; before that is known, when it was asked for."""
        return self.snapshot.taken_at or self.snapshot.created_at


def point_of(snapshot: Snapshot) -> Point:
    return Point(
        snapshot,
        look=snapshot_look(snapshot),
        pin=PINS.get(Origin(snapshot.origin), "users"),
        step=STEPS.get(snapshot.step, STEPS[""]) if snapshot.under_way else "",
        where=_where(snapshot),
        todo=_todo(snapshot),
        comparable=comparable(snapshot),
    )


def comparable(snapshot: Snapshot) -> bool:
    """Its copy can be looked into: see provisioner.gateway.snapshots."""
    return snapshot.usable and snapshot.on_node


def snapshot_look(snapshot: Snapshot) -> Look:
    match JobStatus(snapshot.status):
        case JobStatus.DONE:
            return DONE
        case JobStatus.FAILED:
            return USABLE if snapshot.usable else FAILED
        case JobStatus.PENDING:
            return look_of("pending")
    return RUNNING


def _where(snapshot: Snapshot) -> str:
    if snapshot.verified_at:
        return "on the node and off-site, compared" if snapshot.on_node else "off-site, compared"
    if not snapshot.on_node:
        return ""
    if snapshot.status == JobStatus.DONE:
        return "only on the node"
    if snapshot.status == JobStatus.FAILED:
        return "only on the node: the off-site copy could not be made"
    return "on the node so far"


def _todo(snapshot: Snapshot) -> str:
    if snapshot.status != JobStatus.FAILED:
        return ""
    if snapshot.usable:
        return "Compare or restore it from the node; take another to have one off-site."
    return "There is nothing in it to restore. Delete it, and take another."


def restore_look(restore: Restore) -> Look:
    match JobStatus(restore.status):
        case JobStatus.DONE:
            return RESTORED
        case JobStatus.FAILED:
            return NOT_RESTORED
        case JobStatus.PENDING:
            return look_of("pending")
    return RUNNING


def restore_step(restore: Restore) -> str:
    return RESTORE_STEPS.get(restore.step, RESTORE_STEPS[""])
