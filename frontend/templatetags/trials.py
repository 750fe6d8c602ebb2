"""How templates speak of trial restores."""

from django import template

from controlplane.agents.models import Agent, Condition
from controlplane.tenants.access import Access
from controlplane.trials.models import TrialRestore
from controlplane.trials.queries import last_told
from frontend.looks import Look
from frontend.trials import STEPS, trial_look
from provisioner.trials.alarm import TRIAL

register = template.Library()


@register.simple_tag
def last_trial(access: Access) -> TrialRestore | None:
    """The organisation's newest that says how its off-site copies are."""
    return last_told(access)


@register.simple_tag
def trial_alarm(agent: Agent) -> Condition | None:
    """A snapshot of this agent is kept that did not come back as it was."""
    rows = agent.conditions.all()
    return next((row for row in rows if row.type == TRIAL and row.status is False), None)


@register.filter
def as_trial(one: TrialRestore) -> Look:
    return trial_look(one)


@register.filter
def trying(one: TrialRestore) -> str:
    return STEPS.get(one.step, STEPS[""])
