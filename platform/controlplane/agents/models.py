from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from controlplane import ids
from controlplane.agents.egress import host_of
from controlplane.agents.lifecycle import ENDS, Goal, Status
from controlplane.agents.sizes import size_of
from controlplane.keys.models import Key, Secret
from controlplane.tenants.models import Organisation
from runtimes.catalog import CATALOG


class DiskLevel(models.TextChoices):
    """How full a workspace is, by bytes or by files; from 80 % and from 95 % it is told."""

    OK = "ok", "Has room"
    FILLING = "filling", "Filling up"
    NEARLY_FULL = "nearly_full", "Nearly full"
    FULL = "full", "Full"
    UNKNOWN = "unknown", "Not measured yet"


class AgentQuerySet(models.QuerySet["Agent"]):
    def of(self, organisation: Organisation) -> Self:
        """What the organisation sees: deleted agents only count for operators."""
        return self.filter(organisation=organisation).exclude(goal=Goal.DELETED)

    def on(self, node: str) -> Self:
        return self.filter(node=node)

    def due(self, moment: datetime) -> Self:
        """Agents a worker should look at: changed by people, or past their next look."""
        return self.filter(~Q(observed_generation=F("generation")) | Q(due_at__lte=moment))

    def unleased(self, moment: datetime) -> Self:
        return self.filter(Q(lease_until=None) | Q(lease_until__lt=moment))


class Agent(models.Model):
    """One hosted agent: what people want of it, and what was last seen of it."""

    # --- people's columns: the control plane writes these
    id = models.CharField(primary_key=True, max_length=24, default=ids.agent_id)
    organisation = models.ForeignKey(Organisation, models.PROTECT, related_name="agents")
    name = models.CharField(max_length=63)
    runtime = models.CharField(max_length=32)
    goal = models.CharField(max_length=10, choices=Goal, default=Goal.RUNNING)
    release = models.ForeignKey("Release", models.PROTECT, null=True, related_name="+")
    generation = models.PositiveIntegerField(default=1)  # counts every change people made
    restart_serial = models.PositiveIntegerField(default=0)  # counts the restarts they asked for
    node = models.CharField(max_length=40)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    origin = models.CharField(max_length=24, blank=True)  # the snapshot it began as, of a fork
    disk_wanted = models.CharField(max_length=24, blank=True)  # the restore it should stand on

    # --- workers' columns: only a pass that holds the lease writes these
    status = models.CharField(max_length=14, choices=Status, default=Status.PENDING)
    reason = models.CharField(max_length=40, blank=True)
    message = models.CharField(max_length=500, blank=True)
    status_since = models.DateTimeField(auto_now_add=True)
    deadline_at = models.DateTimeField(null=True, blank=True)
    observed_generation = models.PositiveIntegerField(default=0)
    observed_release = models.PositiveIntegerField(default=0)
    disk_put = models.CharField(max_length=24, blank=True)  # the restore it stands on
    workspace_made_at = models.DateTimeField(null=True, blank=True)
    step = models.CharField(max_length=12, blank=True)  # what a start is at: see provisioner.boot
    address = models.GenericIPAddressField(null=True, blank=True)
    ready_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField(null=True, blank=True)
    purge_at = models.DateTimeField(null=True, blank=True)
    crashes = models.JSONField(
        default=list, blank=True
    )  # (ISO time, weight) within the restart budget
    ready_life = models.CharField(max_length=80, blank=True)  # the life that last answered
    life = models.CharField(max_length=80, blank=True)  # which life of the container was last seen
    quota_enforcement = models.CharField(max_length=10, blank=True)  # hard, advisory
    # Which version of each key and secret (by id) the container was last started with.
    key_versions = models.JSONField(default=dict, blank=True)
    booting_since = models.DateTimeField(null=True, blank=True)  # holds a place: provisioner.turns
    set_up_for = models.CharField(max_length=80, blank=True)  # the container that was set up

    # --- the node's columns: its round `disks` alone writes these, without a lease
    disk_used = models.PositiveBigIntegerField(null=True, blank=True)  # bytes
    disk_total = models.PositiveBigIntegerField(null=True, blank=True)  # bytes it may fill
    disk_level = models.CharField(max_length=12, choices=DiskLevel, default=DiskLevel.UNKNOWN)
    disk_at = models.DateTimeField(null=True, blank=True)

    # --- the lease: who may write the columns above, until when, and its fencing number
    lease_owner = models.CharField(max_length=80, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    fence = models.PositiveBigIntegerField(default=0)

    objects = AgentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "name"],
                condition=~Q(goal=Goal.DELETED),
                name="agent_name_once_per_organisation",
            ),
            models.CheckConstraint(condition=Q(goal__in=Goal.values), name="agent_goal_known"),
            models.CheckConstraint(
                condition=Q(status__in=Status.values), name="agent_status_known"
            ),
        ]
        indexes = [
            models.Index(
                fields=["node"],
                condition=~Q(observed_generation=F("generation")),
                name="agent_changed",
            ),
            models.Index(fields=["node", "due_at"], condition=~Q(due_at=None), name="agent_due"),
            models.Index(fields=["organisation", "-created_at", "-id"], name="agent_newest"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def settled(self) -> bool:
        """The newest wish was seen, and led to one of its ends."""
        return self.observed_generation == self.generation and self.status in ENDS[Goal(self.goal)]

    @property
    def etag(self) -> str:
        return f'"{self.pk}.{self.generation}"'


class Egress(models.TextChoices):
    OPEN = "open", "Open"
    LIST = "list", "Listed hosts"
    NONE = "none", "Closed"


class Isolation(models.TextChoices):
    DEFAULT = "default", "Container"
    GVISOR = "gvisor", "Container in gVisor"


class Cause(models.TextChoices):
    """What made a release."""

    CREATED = "created", "Created"
    CHANGED = "changed", "Settings changed"
    UPGRADED = "upgraded", "Upgraded"
    ROLLED_BACK = "rolled_back", "Rolled back by hand"
    ROLLED_BACK_BY_ITSELF = "rolled_back_by_itself", "Rolled back by itself"


class Release(models.Model):
    """An immutable revision of an agent's spec. Changing anything makes the next one."""

    id = models.CharField(primary_key=True, max_length=24, default=ids.release_id)
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="releases")
    number = models.PositiveIntegerField()
    image = models.CharField(max_length=200)
    runtime_version = models.CharField(max_length=40)
    key = models.ForeignKey(Key, models.PROTECT, null=True, related_name="releases")
    provider = models.CharField(max_length=12, blank=True)
    model = models.CharField(max_length=100, blank=True)
    base_url = models.CharField(max_length=200, blank=True)
    memory_mb = models.PositiveIntegerField()
    cpu_millis = models.PositiveIntegerField()
    disk_gib = models.PositiveIntegerField()
    egress = models.CharField(max_length=5, choices=Egress)
    egress_hosts = models.JSONField(default=list, blank=True)  # checked by agents.egress
    isolation = models.CharField(max_length=8, choices=Isolation, default="default")
    background = models.BooleanField(default=False)  # see runtimes.catalog.Runtime.background
    secrets = models.ManyToManyField(Secret, related_name="releases", blank=True)
    author_label = models.CharField(max_length=254)
    cause = models.CharField(max_length=21, choices=Cause, default=Cause.CHANGED)
    why = models.CharField(max_length=300, default="Settings changed")  # for people
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "number"], name="release_number_once")
        ]

    def __str__(self) -> str:
        return f"{self.agent_id} release {self.number}"

    @property
    def allowed_hosts(self) -> list[str]:
        """Where a release with a list may connect to: the list, and its model's own host."""
        # A runtime that left the catalogue must not keep the node from guarding the others.
        runtime = CATALOG.get(self.agent.runtime)
        provider = runtime.providers.get(self.provider) if runtime else None
        model = self.base_url or (provider.default_base_url if provider else "")
        return sorted({*self.egress_hosts, *([host_of(model)] if model else [])})

    @property
    def size(self) -> str:
        return size_of(self.memory_mb, self.cpu_millis).slug


class Condition(models.Model):
    """One thing that is so or not about an agent, since when and why."""

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="conditions")
    type = models.CharField(max_length=20)  # see provisioner.conditions
    status = models.BooleanField(null=True)  # null: not known
    reason = models.CharField(max_length=40, blank=True)
    message = models.CharField(max_length=500, blank=True)
    since = models.DateTimeField()

    class Meta:
        ordering = ["type"]
        constraints = [models.UniqueConstraint(fields=["agent", "type"], name="condition_once")]

    def __str__(self) -> str:
        return f"{self.type}={self.status}"


class DiskSample(models.Model):
    """How full a workspace was: one every five minutes, later one an hour (see agents.disk)."""

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="disk_samples")
    at = models.DateTimeField()  # the beginning of its five minutes
    used = models.PositiveBigIntegerField()  # bytes
    total = models.PositiveBigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "at"], name="disk_sample_once")]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.at:%Y-%m-%d %H:%M}"


class Level(models.TextChoices):
    INFO = "info"
    OK = "ok"
    WARN = "warn"
    BAD = "bad"


class Event(models.Model):
    """A line of an agent's timeline: what happened, in words a customer understands."""

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="events")
    at = models.DateTimeField(auto_now_add=True)
    kind = models.CharField(max_length=40)
    level = models.CharField(max_length=4, choices=Level, default=Level.INFO)
    title = models.CharField(max_length=200)
    detail = models.CharField(max_length=1000, blank=True)
    actor = models.CharField(max_length=254, blank=True)

    class Meta:
        indexes = [models.Index(fields=["agent", "-id"], name="event_newest")]

    def __str__(self) -> str:
        return self.title
