from datetime import timedelta
from typing import ClassVar

from django.db import models
from django.db.models import Q

from controlplane import ids
from controlplane.agents.models import Agent
from controlplane.jobs.models import Job, JobQuerySet, indexes, one_per_agent, status_known
from controlplane.snapshots.models import Restore, Snapshot

UPGRADE = "Upgrade"  # the condition that says how the last one went


class Outcome(models.TextChoices):
    KEPT = "kept", "Kept"
    ROLLED_BACK = "rolled_back", "Rolled back"
    ROLLBACK_FAILED = "rollback_failed", "Could not be rolled back"
    NOT_RUN = "not_run", "Not run"  # refused before anything was changed
    UNJUDGED = "unjudged", "Not judged"  # people's later wish or a lost worker came before it was


FAILED = (Outcome.ROLLED_BACK, Outcome.ROLLBACK_FAILED)
# It ran and answered; one of a stopped agent is kept without ever having been tried.
PROVEN = Q(outcome=Outcome.KEPT, healthy_at__isnull=False)


class UpgradeQuerySet(JobQuerySet["Upgrade"]):
    def told(self) -> "UpgradeQuerySet":
        """Those that say how good an image is."""
        return self.filter(Q(outcome__in=FAILED) | PROVEN)


class Upgrade(Job):
    """An agent is moved to another image of its runtime, and back if that does not go well."""

    AT_ONCE: ClassVar[int] = 3
    ATTEMPTS: ClassVar[int] = 10
    LONGEST: ClassVar[timedelta] = timedelta(hours=4)
    CALLED: ClassVar[str] = "upgrade"

    # --- people's columns
    id = models.CharField(primary_key=True, max_length=24, default=ids.upgrade_id)
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="upgrades")
    from_image = models.CharField(max_length=200)
    from_version = models.CharField(max_length=40)
    to_image = models.CharField(max_length=200)
    to_version = models.CharField(max_length=40)
    back_to = models.PositiveIntegerField(null=True, blank=True)  # whose content it takes over
    force = models.BooleanField(default=False)  # in a turn; a version that failed before

    # --- the node's columns
    step = models.CharField(max_length=20, blank=True)  # see provisioner.upgrades.run
    outcome = models.CharField(max_length=15, choices=Outcome, blank=True)
    was_up = models.BooleanField(null=True, blank=True)  # it ran and answered before
    spoke_before = models.BooleanField(null=True, blank=True)  # null: not asked
    spoke_after = models.BooleanField(null=True, blank=True)
    snapshot = models.ForeignKey(
        Snapshot, models.SET_NULL, null=True, blank=True, related_name="upgrades"
    )
    release_before = models.PositiveIntegerField(null=True, blank=True)
    release_made = models.PositiveIntegerField(null=True, blank=True)  # its number
    switched_at = models.DateTimeField(null=True, blank=True)
    healthy_at = models.DateTimeField(null=True, blank=True)  # running, and it answers
    config_lost = models.JSONField(default=list, blank=True)  # [{"file", "key"}], the first ones
    release_back = models.PositiveIntegerField(null=True, blank=True)  # made by rolling back
    restore = models.ForeignKey(
        Restore, models.SET_NULL, null=True, blank=True, related_name="upgrades"
    )

    objects = UpgradeQuerySet.as_manager()

    class Meta:
        constraints = [one_per_agent("upgrade"), status_known("upgrade")]
        indexes = [
            *indexes("upgrade"),
            models.Index(
                fields=["to_image", "-finished_at"],
                condition=~Q(outcome=""),
                name="upgrade_of_image",
            ),
        ]


class Halt(models.Model):
    """An image whose upgrades failed too often: nobody is moved to it until an operator says so."""

    image = models.CharField(primary_key=True, max_length=200)
    runtime = models.CharField(max_length=32)
    version = models.CharField(max_length=40)
    since = models.DateTimeField()
    reason = models.CharField(max_length=500)  # of the upgrade that was one too many
    lifted_at = models.DateTimeField(null=True, blank=True)
    lifted_by = models.CharField(max_length=254, blank=True)

    def __str__(self) -> str:
        return self.image
