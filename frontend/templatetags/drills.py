"""How templates speak of recovery drills."""

from django import template

from controlplane.agents.models import Agent, Condition
from controlplane.drills.models import Drill, Hurt
from frontend.drills import LAST_STEP, STEPS, WHAT, drill_look, last_told
from frontend.looks import Look
from provisioner.drills.alarm import DRILL

register = template.Library()


@register.simple_tag
def last_drill(agent: Agent) -> Drill | None:
    return last_told(agent)


@register.simple_tag
def drill_alarm(agent: Agent) -> Condition | None:
    """The last drill failed, and none after it passed."""
    rows = agent.conditions.all()
    return next((row for row in rows if row.type == DRILL and row.status is False), None)


@register.filter
def as_drill(one: Drill) -> Look:
    return drill_look(one)


@register.filter
def what_happened(one: Drill) -> str:
    return WHAT[Hurt(one.kind)]


@register.filter
def doing(one: Drill) -> str:
    return STEPS.get(one.step, ("Getting ready", 0))[0]


@register.filter
def done_steps(one: Drill) -> int:
    return STEPS.get(one.step, ("", 0))[1]


@register.simple_tag
def all_steps() -> int:
    return LAST_STEP


@register.filter
def in_seconds(milliseconds: int | None) -> str:
    """2.1 s"""
    return "not known" if milliseconds is None else f"{milliseconds / 1000:.1f} s"
