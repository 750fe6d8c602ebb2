from datetime import timedelta
from typing import ClassVar

from django.db import models
from django.db.models import Q

from controlplane import ids
from controlplane.agents.models import Agent
from controlplane.jobs.models import Job, JobQuerySet, indexes, one_per_agent, status_known


class Origin(models.TextChoices):
    """Why a snapshot was taken."""

    MANUAL = "manual", "By hand"
    SCHEDULED = "scheduled", "By schedule"
    BEFORE_UPGRADE = "before_upgrade", "Before an upgrade"
    BEFORE_RESTORE = "before_restore", "Before a restore"
    BEFORE_DELETE = "before_delete", "Before its deletion"
    DRILL = "drill", "For a drill"
    IMPORTED = "imported", "Imported"
    EXPORT = "export", "For an export"


class SnapshotQuerySet(JobQuerySet["Snapshot"]):
    def kept(self) -> "SnapshotQuerySet":
        return self.filter(deleted_at=None)

    def usable(self) -> "SnapshotQuerySet":
        """Those that can be looked into, restored and forked: the copy is whole somewhere."""
        return self.filter(Q(on_node=True) | ~Q(verified_at=None)).exclude(manifest_sha256="")


class Snapshot(Job):
    """A workspace as it was at one moment.

    It is worth something as soon as its copy lies on the node; it is `done` once the off-site
    copy, where there is a store, was read back and compared with it file by file.
    """

    AT_ONCE: ClassVar[int] = 2
    ATTEMPTS: ClassVar[int] = 5
    LONGEST: ClassVar[timedelta] = timedelta(hours=6)
    CALLED: ClassVar[str] = "snapshot"

    # --- people's columns
    id = models.CharField(primary_key=True, max_length=24, default=ids.snapshot_id)
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="snapshots")
    origin = models.CharField(max_length=14, choices=Origin, default=Origin.MANUAL)
    note = models.CharField(max_length=200, blank=True)
    release = models.PositiveIntegerField()  # the number of the one that was wanted then
    disk_gib = models.PositiveIntegerField()  # what its files need room in

    # --- the node's columns
    step = models.CharField(max_length=20, blank=True)  # see provisioner.snapshots.take
    taken_at = models.DateTimeField(null=True, blank=True)
    held_ms = models.PositiveIntegerField(default=0)  # for how long the agent's writes waited
    on_node = models.BooleanField(default=False)
    files = models.PositiveIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0)  # of all its files
    manifest_sha256 = models.CharField(max_length=64, blank=True)
    offsite_id = models.CharField(max_length=64, blank=True)  # the store's own name for it
    offsite_bytes = models.PositiveBigIntegerField(default=0)  # what it added to the store
    verified_at = models.DateTimeField(null=True, blank=True)  # read back and compared
    removed_at = models.DateTimeField(null=True, blank=True)  # its copies are gone

    # --- people's, and retention's: it is in no list any more, and its copies are to go
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects = SnapshotQuerySet.as_manager()

    class Meta:
        constraints = [status_known("snapshot")]
        indexes = indexes("snapshot")

    @property
    def usable(self) -> bool:
        if self.deleted_at is not None:
            return False
        return bool(self.manifest_sha256) and (self.on_node or self.verified_at is not None)


class SnapshotPlan(models.Model):
    """When an agent's snapshots are taken by themselves, and how many of these are kept."""

    agent = models.OneToOneField(Agent, models.CASCADE, related_name="snapshot_plan")
    on = models.BooleanField(default=True)
    cron = models.CharField(max_length=60)  # minute, hour, day, month, weekday
    timezone = models.CharField(max_length=60, default="UTC")  # of the IANA database
    keep_last = models.PositiveSmallIntegerField(default=3)
    keep_daily = models.PositiveSmallIntegerField(default=7)
    keep_weekly = models.PositiveSmallIntegerField(default=4)
    next_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["next_at"], name="plan_due")]

    def __str__(self) -> str:
        return f"{self.cron} {self.timezone}"


class RestoreQuerySet(JobQuerySet["Restore"]):
    pass


class Restore(Job):
    """A workspace, or one file or folder of it, is put back to one of its snapshots; what it
    replaces is kept as another."""

    AT_ONCE: ClassVar[int] = 2
    ATTEMPTS: ClassVar[int] = 5
    LONGEST: ClassVar[timedelta] = timedelta(hours=6)
    CALLED: ClassVar[str] = "restore"

    # --- people's columns
    id = models.CharField(primary_key=True, max_length=24, default=ids.restore_id)
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="restores")
    snapshot = models.ForeignKey(Snapshot, models.CASCADE, related_name="restores")
    # As provisioner.snapshots.naming writes it; "" for all of the workspace.
    path = models.CharField(max_length=20_000, blank=True)
    keep_as = models.CharField(max_length=24, default=ids.snapshot_id)  # of what it replaces

    # --- the node's columns
    step = models.CharField(max_length=20, blank=True)  # see provisioner.snapshots.restore

    objects = RestoreQuerySet.as_manager()

    class Meta:
        constraints = [one_per_agent("restore"), status_known("restore")]
        indexes = indexes("restore")
