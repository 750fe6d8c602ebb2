"""How templates speak of disks."""

from django import template

from controlplane.agents.models import Agent
from frontend.disks import Disk, disk_of

register = template.Library()

GIBIBYTE = 1024**3
MEBIBYTE = 1024**2


@register.simple_tag
def disk_of_agent(agent: Agent) -> Disk:
    return disk_of(agent)


@register.filter
def bytes_in_words(number: int) -> str:
    """1.9 GiB, 120 GiB, 43 MiB"""
    if number < GIBIBYTE / 10:
        return f"{number / MEBIBYTE:.0f} MiB"
    gib = number / GIBIBYTE
    return f"{gib:.1f} GiB" if gib < 100 else f"{gib:.0f} GiB"
