from datetime import timedelta
from typing import ClassVar

from django.db import models
from django.db.models import Q

from controlplane import ids
from controlplane.agents.models import Agent
from controlplane.jobs.models import Job, JobQuerySet, indexes, one_per_agent, status_known
from controlplane.snapshots.models import Snapshot


class Hurt(models.TextChoices):
    """How a drill ends the agent."""

    PROCESS = "process", "Kill its main process"
    CONTAINER = "container", "Remove its container"
    REBOOT = "reboot", "Simulate a reboot of its node"
    ENGINE = "engine", "Restart the node's engine"


class Verdict(models.TextChoices):
    PASSED = "passed", "Survived"
    FAILED = "failed", "Did not survive"
    NOT_RUN = "not_run", "Not run"  # refused, or given up before anything was compared


class DrillQuerySet(JobQuerySet["Drill"]):
    def told(self) -> "DrillQuerySet":
        """Those that say how recovery is."""
        return self.filter(verdict__in=[Verdict.PASSED, Verdict.FAILED])


class Drill(Job):
    """An agent is ended on purpose; what comes back is compared with what was there."""

    AT_ONCE: ClassVar[int] = 2
    ATTEMPTS: ClassVar[int] = 5
    LONGEST: ClassVar[timedelta] = timedelta(hours=2)
    CALLED: ClassVar[str] = "drill"

    # --- people's columns
    id = models.CharField(primary_key=True, max_length=24, default=ids.drill_id)
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="drills")
    kind = models.CharField(max_length=9, choices=Hurt)
    force = models.BooleanField(default=False)  # also in the middle of a turn

    # --- the node's columns
    step = models.CharField(max_length=20, blank=True)  # see provisioner.drills.run
    verdict = models.CharField(max_length=7, choices=Verdict, blank=True)
    snapshot = models.ForeignKey(
        Snapshot, models.SET_NULL, null=True, blank=True, related_name="drills"
    )
    messages_before = models.PositiveIntegerField(null=True, blank=True)  # null: not known
    life_before = models.CharField(max_length=80, blank=True)  # of the container that is ended
    killed_at = models.DateTimeField(null=True, blank=True)
    recovered_at = models.DateTimeField(null=True, blank=True)  # running, and it answers
    recovery_ms = models.PositiveIntegerField(null=True, blank=True)
    baseline_ms = models.PositiveIntegerField(null=True, blank=True)  # its runtime's usual boot
    answered = models.BooleanField(null=True, blank=True)
    conversation_reachable = models.BooleanField(null=True, blank=True)  # null: it cannot say
    files_compared = models.PositiveIntegerField(default=0)
    files_equal = models.PositiveIntegerField(default=0)
    bytes_compared = models.PositiveBigIntegerField(default=0)
    differences = models.JSONField(default=list, blank=True)  # the first paths, with what is wrong
    report = models.JSONField(null=True, blank=True)  # see provisioner.drills.report

    objects = DrillQuerySet.as_manager()

    class Meta:
        constraints = [
            one_per_agent("drill"),
            status_known("drill"),
            models.CheckConstraint(condition=Q(kind__in=Hurt.values), name="drill_kind_known"),
        ]
        indexes = indexes("drill")


class DrillPlan(models.Model):
    """A drill every so many days, at a moment in which the agent runs and rests."""

    agent = models.OneToOneField(Agent, models.CASCADE, primary_key=True, related_name="drill_plan")
    kind = models.CharField(max_length=9, choices=Hurt)
    every_days = models.PositiveSmallIntegerField()
    next_at = models.DateTimeField()
    set_by = models.CharField(max_length=254)

    class Meta:
        indexes = [models.Index(fields=["next_at"], name="drill_plan_due")]
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=Hurt.values), name="drill_plan_kind_known"),
            models.CheckConstraint(
                condition=Q(every_days__gte=1, every_days__lte=90), name="drill_plan_days"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} every {self.every_days} days"
