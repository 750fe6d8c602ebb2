"""Names and labels of what we make in an engine, all derived from ids that never change."""

import hashlib
from collections.abc import Mapping

INSTALLATION = "roost.installation"
AGENT = "roost.agent"
ORGANISATION = "roost.organisation"
RELEASE = "roost.release"
RESTART = "roost.restart"


def container(agent_id: str) -> str:
    return f"roost-{agent_id}"


def apart(agent_id: str) -> str:
    """Of what runs for it before its first start."""
    return f"roost-{agent_id}-apart"


def network(installation: str, block: int) -> str:
    return f"roost-{installation}-{block:05x}"


def bridge_prefix(installation: str) -> str:
    """Interface names of one installation start with this; the guard matches them by it."""
    digest = hashlib.sha256(installation.encode()).hexdigest()
    return f"ag{digest[:4]}-"


def bridge(installation: str, block: int) -> str:
    """At most 15 characters, the kernel's limit for an interface."""
    return f"{bridge_prefix(installation)}{block:05x}"


def mine(installation: str) -> Mapping[str, str]:
    """The labels by which an installation knows what is its own."""
    return {INSTALLATION: installation}
