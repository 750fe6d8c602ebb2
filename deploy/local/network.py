"""The address at which containers reach platform services.

As root it lies on the loopback interface, so that it is there before any bridge (the node process
keeps it there too); without root it is the gateway of the engine's own bridge.
"""

import json
import os
import subprocess
from collections.abc import Mapping

from deploy.local.errors import CheckFailed
from deploy.local.layout import DEFAULT_INSTALLATION, DEFAULT_POOL, Installation
from deploy.local.programs import base_environment


def ensure(installation: Installation, environ: Mapping[str, str]) -> str:
    """Put the address in place when missing; returns it."""
    address = service_address(installation, environ)
    if not installation.root or environ.get("ROOST_SERVICE_ADDRESS"):
        return address
    if installation.name != DEFAULT_INSTALLATION and str(installation.pool) == DEFAULT_POOL:
        raise CheckFailed(
            f"The installation {installation.name!r} would share its networks with the one"
            f" called {DEFAULT_INSTALLATION!r}.",
            "Give it a range of its own: set ROOST_NETWORK_POOL, to 10.77.0.0/16 for example.",
        )
    if holders := [name for name, held in addresses().items() if address in held and name != "lo"]:
        raise CheckFailed(
            f"The address {address} is already in use on {holders[0]}.",
            "Choose another private range with ROOST_NETWORK_POOL.",
        )
    _ip("address", "replace", f"{address}/32", "dev", "lo")
    return address


def service_address(installation: Installation, environ: Mapping[str, str]) -> str:
    """The address, whether it is there yet or not."""
    if given := environ.get("ROOST_SERVICE_ADDRESS"):
        return given
    return installation.pool_address if installation.root else _bridge_gateway()


def remove(installation: Installation) -> bool:
    """Take the address away; True when it was there."""
    address = installation.pool_address
    if not installation.root or address not in addresses().get("lo", []):
        return False
    _ip("address", "del", f"{address}/32", "dev", "lo")
    return True


def addresses() -> dict[str, list[str]]:
    """interface → its IPv4 addresses"""
    found = {}
    for link in json.loads(_ip("-json", "address", "show") or "[]"):
        own = [entry["local"] for entry in link.get("addr_info", []) if entry["family"] == "inet"]
        found[str(link.get("ifname"))] = own
    return found


def _bridge_gateway() -> str:
    if own := addresses().get("docker0"):
        return own[0]
    raise CheckFailed(
        "The engine's bridge docker0 was not found on this machine.",
        "Set ROOST_SERVICE_ADDRESS to an address of this machine that containers can reach.",
    )


def _ip(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["ip", *arguments],
            env=base_environment(os.environ),
            capture_output=True,
            text=True,
            check=True,
        )
    except FileNotFoundError as error:
        raise CheckFailed("The command `ip` is missing.", "Install iproute2.") from error
    except subprocess.CalledProcessError as error:
        raise CheckFailed(
            f"`ip {' '.join(arguments)}` failed ({error.stderr.strip()}).",
            "Check that this user may change the network; in a container give it NET_ADMIN.",
        ) from error
    return done.stdout
