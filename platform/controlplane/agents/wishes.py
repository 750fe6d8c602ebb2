"""A wish: something that people want of an agent has changed."""

from controlplane.agents.dispatch import request_reconcile
from controlplane.agents.models import Agent


def wish(agent: Agent, *changed: str) -> None:
    """Save what `changed`, count it, and wake the provisioner once it is committed."""
    agent.generation += 1
    agent.save(update_fields=["generation", *changed])
    request_reconcile(agent)
