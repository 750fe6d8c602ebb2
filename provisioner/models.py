from django.db import models

from controlplane.agents.models import Agent
from controlplane.tenants.models import Organisation
from provisioner.strays.models import ReapPlan, Stray

__all__ = ["Address", "Block", "Node", "ReapPlan", "Stray", "Turn"]


class Node(models.Model):
    """A host that runs agents, and when it last said so."""

    name = models.CharField(primary_key=True, max_length=40)
    heartbeat_at = models.DateTimeField()
    engine = models.CharField(max_length=100, blank=True)
    engine_silent_since = models.DateTimeField(null=True)
    weaknesses = models.JSONField(default=list)  # sentences: what this host cannot enforce
    isolations = models.JSONField(default=list)  # what its engine offers: default, gvisor
    guard_restored_at = models.DateTimeField(null=True)  # when somebody had removed its rules

    # How often it has said so; the node remembers it too: see provisioner.memory.
    serial = models.PositiveBigIntegerField(default=0)
    database_older_since = models.DateTimeField(null=True)  # it was restored, as it seems

    # The disk that all its workspaces lie on, in bytes; null where they have none of their own.
    pool_total = models.PositiveBigIntegerField(null=True)
    pool_free = models.PositiveBigIntegerField(null=True)
    pool_reserve = models.PositiveBigIntegerField(null=True)
    pool_promised = models.PositiveBigIntegerField(null=True)  # its workspaces, were they all full

    def __str__(self) -> str:
        return self.name


class Turn(models.Model):
    """A turn that the gateway carries now. It expires, should the gateway die in the middle."""

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="+")
    until = models.DateTimeField()
    web = models.BooleanField(default=False)  # its own web UI is open: whether in a turn is unseen

    def __str__(self) -> str:
        return f"a turn of {self.agent_id}"


class Block(models.Model):
    """A /28 of the pool, and the bridge of one organisation on it: 13 agents."""

    number = models.PositiveIntegerField(unique=True)  # its place in the pool
    node = models.CharField(max_length=40)
    organisation = models.ForeignKey(Organisation, models.CASCADE, related_name="+")

    def __str__(self) -> str:
        return f"block {self.number}"


class Address(models.Model):
    """An agent's place in its organisation's network, kept for its whole life."""

    agent = models.OneToOneField(Agent, models.CASCADE, related_name="+")
    block = models.ForeignKey(Block, models.CASCADE, related_name="addresses")
    host = models.PositiveSmallIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["block", "host"], name="address_once")]

    def __str__(self) -> str:
        return f"{self.block} host {self.host}"
