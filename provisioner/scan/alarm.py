"""A finding is told where the agent is looked at: a condition, a line of its timeline.

One in a shared place is told to operators alone: in the log, and in the admin.
"""

import logging
from collections.abc import Sequence

from controlplane.agents.conditions import set_condition
from controlplane.agents.models import Agent, Level
from controlplane.agents.timeline import tell
from controlplane.scans.models import Scan
from provisioner.scan.place import Finding, Place
from provisioner.scan.wanted import PROVIDER_KEY

log = logging.getLogger(__name__)
CREDENTIALS = "Credentials"
FOUND = "credential_found"
OURS = "Ask your operator to remove it there"
REMEDIES = {
    "workspace": "Then remove the file, and stop what wrote it",
    "disk": "Then remove the file, or fill and free the disk once",
    "copies": "Then delete the copies that were taken since",
    "container": "Then restart the agent: its container is made anew",
    "logs": "Then restart the agent: the log goes with its container",
}


def ring(agent: Agent, places: Sequence[Place]) -> None:
    """Call inside the transaction of the report."""
    found = [finding for place in places for finding in place.findings]
    message = sentence(found)
    set_condition(agent, CREDENTIALS, status=False, reason=FOUND, message=message)
    tell(agent, f"scan.{FOUND}", "A credential lies on a disk", detail=message, level=Level.BAD)


def all_clear(agent: Agent, places: Sequence[Place], before: Sequence[str]) -> bool:
    """Nothing was found. An alarm is ended only where each place it came from was looked at."""
    seen = {place.name for place in places if place.looked_at}
    rung = agent.conditions.filter(type=CREDENTIALS, status=False).exists()
    if rung and not set(before) <= seen:
        tell(
            agent,
            "scan.partly",
            "Nothing found, but not every place of the alarm could be looked at",
            detail="The alarm stays until it can be. The report names the places and the reasons.",
            level=Level.WARN,
        )
        return False
    set_condition(agent, CREDENTIALS, status=True, reason="scanned", message="")
    tell(agent, "scan.clean", "Searched for its credentials and found none", level=Level.OK)
    return True


def tell_operators(scan: Scan, shared: Sequence[Place]) -> None:
    """Names places only: a path may hold what an agent chose."""
    names = ", ".join(place.name for place in shared if place.findings or place.more)
    log.error(
        "Scan %s of agent %s found credentials in places that agents share (%s). "
        "See Operator reports in the admin.", scan.pk, scan.agent_id, names,
    )  # fmt: skip


def sentence(found: Sequence[Finding]) -> str:
    """What, where, what to do. The beginning and the end matter, so the path gives way."""
    first = found[0]
    path = first.path if len(first.path) <= 200 else f"{first.path[:199]}…"
    more = len({(one.place, one.path) for one in found}) - 1
    others = f" and {more} more place{'s' if more > 1 else ''}" if more else ""
    form = "" if first.form == "plain" else f" ({first.form})"
    remedy = REMEDIES.get(first.place, OURS)
    verb = "hold" if more else "holds"
    return f"{path}{others} {verb} the {first.secret}{form}. {_rotate(first.secret)} {remedy}."


def _rotate(secret: str) -> str:
    if secret.startswith((PROVIDER_KEY, "secret ")):
        return "Rotate it at its provider and here, on the page Keys: whoever read it has it."
    return "It opens this agent alone; whoever read it can speak to the agent from the node."
