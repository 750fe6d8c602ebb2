"""What the node adds to the host's network: one address for the platform's own services.

It lies on the loopback interface, so it is there before any bridge, the same for all agents,
and needs no kernel module; the guard refuses it to everybody but them and the host itself.
"""

import contextlib

from provisioner.workspaces.base import WorkspaceTrouble
from provisioner.workspaces.mounts import run


def ensure_service_address(address: str) -> None:
    run("ip", "address", "replace", f"{address}/32", "dev", "lo")


def remove_service_address(address: str) -> None:
    """Absent counts as removed."""
    with contextlib.suppress(WorkspaceTrouble):
        run("ip", "address", "del", f"{address}/32", "dev", "lo")
