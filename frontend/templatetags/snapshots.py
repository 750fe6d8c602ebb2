"""How templates speak of snapshots, and of what changed between two."""

from collections.abc import Mapping
from typing import Any

from django import template

register = template.Library()
KINDS = {  # tone, icon
    "added": ("ok", "plus"),
    "changed": ("warn", "swap"),
    "removed": ("bad", "x"),
    "touched": ("idle", "clock"),
}


@register.filter
def rows(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All kinds one after the other."""
    return [
        row | {"word": kind, "tone": tone, "icon": icon}
        for kind, (tone, icon) in KINDS.items()
        for row in found[kind]
    ]


@register.filter
def many(number: int, noun: str) -> str:
    """1 file, 12,478 files."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
