"""How templates speak of an agent whose row is older than what is there."""

from django import template

from controlplane.agents.models import Agent, Condition
from provisioner.conditions import CURRENT

register = template.Library()


@register.simple_tag
def doubt_of(agent: Agent) -> Condition | None:
    """Nothing is ended for it until somebody decides; None once somebody has."""
    rows = agent.conditions.all()
    told = (row for row in rows if row.type == CURRENT and row.status is False)
    return next((row for row in told if row.message), None)
