"""How templates speak of newer versions, and of an upgrade that went wrong both ways."""

from django import template

from controlplane.agents.models import Agent, Condition
from controlplane.agents.releases import update_for
from frontend.releases import stuck

register = template.Library()


@register.simple_tag
def newer_version(agent: Agent) -> str:
    """Empty where it runs the newest."""
    found = update_for(agent)
    return f"{found.version} is available" if found else ""


@register.simple_tag
def upgrade_alarm(agent: Agent) -> Condition | None:
    return stuck(agent, agent.conditions.all())
