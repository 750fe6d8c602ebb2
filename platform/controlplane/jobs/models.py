"""Long work of a node on one agent: a scan, a snapshot, a restore, a drill, a trial
restore.

A job is a row that people add and a node takes up: claimed by one worker at a time (see
controlplane.jobs.claim), repeatable at every step, and given up with a reason.
"""

from datetime import datetime, timedelta
from typing import ClassVar, Self, TypeVar

from django.db import models
from django.db.models import Q
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.tenants.models import Organisation


class JobStatus(models.TextChoices):
    PENDING = "pending"  # asked for; the agent's node takes it up
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"  # its reason and message say why


UNDER_WAY = (JobStatus.PENDING, JobStatus.RUNNING)


Row = TypeVar("Row", bound=models.Model)


class JobQuerySet(models.QuerySet[Row]):
    def of(self, organisation: Organisation) -> Self:
        return self.filter(agent__in=Agent.objects.of(organisation))

    def under_way(self) -> Self:
        return self.filter(status__in=UNDER_WAY)

    def on(self, node: str) -> Self:
        return self.filter(agent__node=node)

    def unclaimed(self, moment: datetime) -> Self:
        """Nobody has taken it up, or who did is gone; it is not put off either."""
        return self.under_way().filter(Q(lease_until=None) | Q(lease_until__lt=moment))


class Job(models.Model):
    """What every kind of job has. A kind says how many run at once on a node, how long one may
    take, how often it is begun again, and what people call it."""

    AT_ONCE: ClassVar[int] = 2
    ATTEMPTS: ClassVar[int] = 3
    LONGEST: ClassVar[timedelta] = timedelta(hours=2)
    CALLED: ClassVar[str] = "job"

    # --- people's columns; each kind adds its own `agent`, with the name its agent knows it by
    agent: "models.ForeignKey[Agent, Agent]"
    agent_id: str
    requested_by = models.CharField(max_length=254)
    created_at = models.DateTimeField(default=now)

    # --- the node's columns: only who holds the claim writes these
    status = models.CharField(max_length=8, choices=JobStatus, default=JobStatus.PENDING)
    reason = models.CharField(max_length=40, blank=True)
    message = models.CharField(max_length=500, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    deadline_at = models.DateTimeField(null=True, blank=True)  # of what runs
    finished_at = models.DateTimeField(null=True, blank=True)

    # --- the claim
    attempts = models.PositiveSmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    fence = models.PositiveBigIntegerField(default=0)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.pk} of {self.agent_id}"

    @property
    def under_way(self) -> bool:
        return self.status in UNDER_WAY


def status_known(kind: str) -> models.CheckConstraint:
    """For a kind's Meta; `kind` begins the name."""
    return models.CheckConstraint(
        condition=Q(status__in=JobStatus.values), name=f"{kind}_status_known"
    )


def one_per_agent(kind: str) -> models.UniqueConstraint:
    """For kinds of which an agent has one at a time."""
    return models.UniqueConstraint(
        fields=["agent"], condition=Q(status__in=UNDER_WAY), name=f"{kind}_once_per_agent"
    )


def indexes(kind: str) -> list[models.Index]:
    return [
        models.Index(fields=["agent", "-created_at", "-id"], name=f"{kind}_newest"),
        models.Index(
            fields=["lease_until"], condition=Q(status__in=UNDER_WAY), name=f"{kind}_under_way"
        ),
    ]
