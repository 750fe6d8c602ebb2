from datetime import timedelta

from django.db import models
from django.db.models import Q
from django.utils.timezone import now

from controlplane import ids


class Kind(models.TextChoices):
    """In the order in which they can be removed."""

    CONTAINER = "container", "Container"
    KEYS = "keys", "Place for keys"
    DISK = "disk", "Workspace, with its copies"
    COPIES = "copies", "Copies of a workspace that is gone"
    COPY = "copy", "Copy that no snapshot speaks of"
    NETWORK = "network", "Network"
    VAULT = "vault", "Secrets in the vault"
    OFFSITE = "offsite", "Off-site snapshots"


# Several nodes, and maybe other installations, keep theirs in one place: a name alone does not
# prove that it is ours.
SHARED = (Kind.VAULT, Kind.OFFSITE)
HERE = tuple(kind for kind in Kind if kind not in SHARED)


class State(models.TextChoices):
    FOUND = "found", "Found"
    IGNORED = "ignored", "To be left alone"
    REMOVING = "removing", "To be removed"
    REMOVED = "removed", "Removed"
    ADOPTED = "adopted", "Adopted"
    GONE = "gone", "Gone by itself"


OPEN = (State.FOUND, State.IGNORED, State.REMOVING)


class StrayQuerySet(models.QuerySet["Stray"]):
    def open(self) -> "StrayQuerySet":
        return self.filter(state__in=OPEN)

    def at(self, node: str) -> "StrayQuerySet":
        """On this node, and what all nodes share."""
        return self.filter(node__in=[node, ""])


class Stray(models.Model):
    """One thing that was found, by what never changes of it."""

    id = models.CharField(primary_key=True, max_length=24, default=ids.stray_id)
    node = models.CharField(max_length=40, blank=True)  # empty for SHARED ones
    kind = models.CharField(max_length=9, choices=Kind)
    identity = models.CharField(max_length=200)  # a container's id, else an agent's id or a path
    name = models.CharField(max_length=200)  # what an operator finds it by
    agent = models.CharField(max_length=24, blank=True)  # of its label or name
    organisation = models.CharField(max_length=24, blank=True)  # where that is known
    bytes = models.PositiveBigIntegerField(null=True, blank=True)
    address = models.GenericIPAddressField(null=True, blank=True)
    spec = models.JSONField(default=dict, blank=True)  # what an agent can be made of: see looking
    first_seen_at = models.DateTimeField(default=now)
    last_seen_at = models.DateTimeField(default=now)
    ended_at = models.DateTimeField(null=True, blank=True)
    state = models.CharField(max_length=8, choices=State, default=State.FOUND)
    plan = models.ForeignKey("ReapPlan", models.SET_NULL, null=True, blank=True)
    message = models.CharField(max_length=500, blank=True)  # why it could not be removed yet

    objects = StrayQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["node", "kind", "identity"], name="stray_once"),
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="stray_kind_known"),
            models.CheckConstraint(condition=Q(state__in=State.values), name="stray_state_known"),
        ]
        indexes = [models.Index(fields=["agent"], condition=Q(state__in=OPEN), name="stray_open")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.name}"

    @property
    def running(self) -> bool:
        return bool(self.spec.get("running"))


class ReapPlan(models.Model):
    """What a dry run would remove: an operator reads it, and agrees to it by its id."""

    LASTS = timedelta(hours=1)

    id = models.CharField(primary_key=True, max_length=24, default=ids.reap_plan_id)
    node = models.CharField(max_length=40)
    items = models.JSONField()  # of each stray its id, kind, identity, name and bytes
    made_by = models.CharField(max_length=254)
    made_at = models.DateTimeField(default=now)
    agreed_by = models.CharField(max_length=254, blank=True)
    agreed_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.pk
