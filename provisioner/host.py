"""What the node adds to the host's network: one address for the platform's own services.

It lies on a dummy interface, so it is there before any bridge and the same for all agents;
the guard refuses it to everybody but them.
"""

import hashlib
import json

from provisioner.workspaces.base import WorkspaceTrouble
from provisioner.workspaces.mounts import run


def interface(installation: str) -> str:
    """At most 15 characters."""
    digest = hashlib.sha256(installation.encode()).hexdigest()[:6]
    return f"roost-{installation}" if len(installation) <= 9 else f"roost-{digest}"


def ensure_service_address(installation: str, address: str) -> None:
    name = interface(installation)
    if not _exists(name):
        run("ip", "link", "add", name, "type", "dummy")
    run("ip", "link", "set", name, "up")
    run("ip", "address", "replace", f"{address}/32", "dev", name)


def remove_service_address(installation: str) -> None:
    if _exists(interface(installation)):
        run("ip", "link", "delete", interface(installation))


def _exists(name: str) -> bool:
    try:
        return any(link["ifname"] == name for link in json.loads(run("ip", "-j", "link", "show")))
    except ValueError as error:
        raise WorkspaceTrouble("ip(8) did not answer in JSON.") from error
