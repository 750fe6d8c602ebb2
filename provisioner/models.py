from django.db import models

from controlplane.agents.models import Agent
from controlplane.tenants.models import Organisation


class Node(models.Model):
    """A host that runs agents, and when it last said so."""

    name = models.CharField(primary_key=True, max_length=40)
    heartbeat_at = models.DateTimeField()
    engine = models.CharField(max_length=100, blank=True)
    engine_silent_since = models.DateTimeField(null=True)
    weaknesses = models.JSONField(default=list)  # sentences: what this host cannot enforce

    def __str__(self) -> str:
        return self.name


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
