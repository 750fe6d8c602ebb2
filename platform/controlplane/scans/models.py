from datetime import timedelta
from typing import Any, ClassVar

from django.db import models
from django.utils.timezone import now

from controlplane import ids
from controlplane.agents.models import Agent
from controlplane.jobs.models import (
    Job,
    JobQuerySet,
    JobStatus,
    indexes,
    one_per_agent,
    status_known,
)


class ScanQuerySet(JobQuerySet["Scan"]):
    pass


class Scan(Job):
    """One look for an agent's live secrets wherever they must not be, and its signed report."""

    AT_ONCE: ClassVar[int] = 2  # each reads whole disks
    LONGEST: ClassVar[timedelta] = timedelta(hours=2)
    CALLED: ClassVar[str] = "scan"

    id = models.CharField(primary_key=True, max_length=24, default=ids.scan_id)
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="scans")

    # --- the node's columns
    place = models.CharField(max_length=60, blank=True)  # what it looks at now
    places_done = models.PositiveSmallIntegerField(default=0)
    places_total = models.PositiveSmallIntegerField(default=0)
    bytes_read = models.PositiveBigIntegerField(default=0)
    findings = models.PositiveIntegerField(default=0)
    unseen = models.PositiveSmallIntegerField(default=0)  # places that could not be looked at
    report = models.JSONField(null=True, blank=True)  # see controlplane.scans.signing

    objects = ScanQuerySet.as_manager()

    class Meta:
        constraints = [one_per_agent("scan"), status_known("scan")]
        indexes = indexes("scan")

    @property
    def found_nothing(self) -> bool | None:
        """None while nobody knows."""
        return self.findings == 0 if self.status == JobStatus.DONE else None


class OperatorReport(models.Model):
    """What a scan came to in places that hold what belongs to others too. No organisation sees it.

    Without foreign keys: it stays when the scan or its agent goes, and a scan of the agent's own
    rows does not come upon it.
    """

    KEPT: ClassVar[int] = 50  # of one agent

    id = models.CharField(primary_key=True, max_length=24)  # the scan's
    agent = models.CharField(max_length=24)
    findings = models.PositiveIntegerField(default=0)
    unseen = models.PositiveSmallIntegerField(default=0)
    report = models.JSONField()  # signed like the scan's own
    created_at = models.DateTimeField(default=now)

    class Meta:
        indexes = [models.Index(fields=["agent", "-created_at"], name="operator_report_newest")]

    def __str__(self) -> str:
        return f"{self.pk} of {self.agent}"

    @classmethod
    def keep(cls, scan: Scan, **columns: Any) -> None:
        """Call inside the transaction of the scan's own report."""
        cls.objects.create(id=scan.pk, agent=scan.agent_id, **columns)
        rows = cls.objects.filter(agent=scan.agent_id).order_by("-created_at")
        telling = rows.filter(findings__gt=0).values_list("pk", flat=True)[:1]
        newest = rows.values_list("pk", flat=True)[: cls.KEPT]
        rows.exclude(pk__in=[*newest, *telling]).delete()


class ScanKey(models.Model):
    """The public half of a key that signs reports; the other half is in the vault alone."""

    id = models.CharField(primary_key=True, max_length=16)  # see controlplane.scans.signing
    public_key = models.CharField(max_length=44)  # base64
    created_at = models.DateTimeField(default=now)

    def __str__(self) -> str:
        return self.id
