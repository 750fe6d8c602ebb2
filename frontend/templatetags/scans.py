"""How templates speak of scans for credentials."""

from collections.abc import Mapping
from typing import Any

from django import template

from controlplane.agents.models import Agent, Condition
from provisioner.scan.alarm import CREDENTIALS

register = template.Library()
NOUNS = {
    "files": "file",
    "rows": "row",
    "keys": "key",
    "disks": "disk",
    "processes": "process",
}


@register.simple_tag
def alarm_of(agent: Agent) -> Condition | None:
    """What a scan found and no later one saw gone."""
    rows = agent.conditions.all()
    return next((row for row in rows if row.type == CREDENTIALS and row.status is False), None)


@register.filter
def shared_places(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Those that are searched for operators; how they went, no report says."""
    return [place for place in report["places"] if place.get("shared")]


@register.filter
def looked_at(place: Mapping[str, Any]) -> str:
    """1,204 files."""
    many = next((noun for noun in NOUNS if noun in place), "files")
    number = place.get(many, 0)
    return f"{number:,} {NOUNS[many] if number == 1 else many}"


@register.filter
def data_size(amount: int) -> str:
    for unit, one in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if amount >= one:
            return f"{amount / one:.1f} {unit}"
    return f"{amount} bytes"
