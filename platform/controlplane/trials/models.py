"""Trial restores: an off-site snapshot is brought back beside everything and compared."""

from datetime import timedelta
from typing import ClassVar

from django.db import models
from django.db.models import Q

from controlplane import ids
from controlplane.agents.models import Agent
from controlplane.jobs.models import UNDER_WAY, Job, JobQuerySet, indexes, status_known
from controlplane.snapshots.models import Snapshot
from controlplane.tenants.models import Organisation


class Outcome(models.TextChoices):
    EQUAL = "equal", "As it was"
    DIFFERS = "differs", "Not as it was"  # or it could not be brought back at all
    NOT_RUN = "not_run", "Not run"  # something was away or full: it says nothing of the copy


class TrialRestoreQuerySet(JobQuerySet["TrialRestore"]):
    def of(self, organisation: Organisation) -> "TrialRestoreQuerySet":
        """Also those of agents that were deleted since: it is the organisation's result."""
        return self.filter(organisation=organisation)

    def told(self) -> "TrialRestoreQuerySet":
        """Those that say how the off-site copies are."""
        return self.filter(outcome__in=[Outcome.EQUAL, Outcome.DIFFERS])


class TrialRestore(Job):
    """A random off-site snapshot of an organisation is brought to a scratch disk, compared with
    its manifest, and forgotten. No workspace is touched."""

    AT_ONCE: ClassVar[int] = 1
    ATTEMPTS: ClassVar[int] = 5
    LONGEST: ClassVar[timedelta] = timedelta(hours=6)
    CALLED: ClassVar[str] = "trial restore"

    # --- people's columns
    id = models.CharField(primary_key=True, max_length=24, default=ids.trial_id)
    organisation = models.ForeignKey(Organisation, models.CASCADE, related_name="trial_restores")
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="trial_restores")
    snapshot = models.ForeignKey(Snapshot, models.CASCADE, related_name="trial_restores")

    # --- the node's columns
    step = models.CharField(max_length=20, blank=True)  # see provisioner.trials.run
    outcome = models.CharField(max_length=7, choices=Outcome, blank=True)
    took_ms = models.PositiveBigIntegerField(null=True, blank=True)  # from first byte to verdict
    files = models.PositiveIntegerField(default=0)  # that came back
    bytes = models.PositiveBigIntegerField(default=0)
    differences = models.JSONField(default=list, blank=True)  # the first paths, with what is wrong

    objects = TrialRestoreQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation"],
                condition=Q(status__in=UNDER_WAY),
                name="trial_once_per_organisation",
            ),
            status_known("trial"),
        ]
        indexes = [
            *indexes("trial"),
            models.Index(
                fields=["organisation", "-created_at", "-id"], name="trial_of_organisation"
            ),
        ]


class TrialPlan(models.Model):
    """When the next one of an organisation is run by itself: see plans."""

    organisation = models.OneToOneField(
        Organisation, models.CASCADE, primary_key=True, related_name="trial_plan"
    )
    rule = models.CharField(max_length=130)  # the operator's setting that it was found by
    next_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["next_at"], name="trial_plan_due")]

    def __str__(self) -> str:
        return f"the next of {self.organisation_id} at {self.next_at:%Y-%m-%d %H:%M}"
