"""How commands show a stray, and who is written down for what they do."""

from typing import Any

from controlplane.audit.actor import Actor
from provisioner.strays.models import State, Stray

SHELL = Actor("operator", "", "operator at a node's shell")
FIELDS = (
    *("id", "node", "kind", "identity", "name", "agent", "organisation", "bytes", "address"),
    *("state", "message", "spec"),
)


def shown(stray: Stray) -> dict[str, Any]:
    times = ("first_seen_at", "last_seen_at")
    told = {name: getattr(stray, name) for name in FIELDS}
    return told | {name: getattr(stray, name).isoformat() for name in times}


def line(stray: Stray) -> str:
    parts = [stray.pk, f"{stray.get_kind_display()}: {stray.name}"]
    if stray.agent and stray.agent not in stray.name:
        parts.append(f"agent {stray.agent}")
    if stray.organisation:
        parts.append(f"of {stray.organisation}")
    if stray.bytes is not None:
        parts.append(f"{stray.bytes / 1024**2:.1f} MiB")
    if stray.running:
        parts.append("running, reaches nothing")
    parts.append(f"since {stray.first_seen_at:%Y-%m-%d %H:%M}")
    if stray.state != State.FOUND:
        parts.append(stray.get_state_display().lower())
    return ", ".join(parts) + (f" ({stray.message})" if stray.message else "")
