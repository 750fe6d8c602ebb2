"""The address at which containers reach platform services.

As root it lies on a dummy interface of this installation, so that no bridge has to exist first;
without root it is the gateway of the engine's own bridge.
"""

import json
import os
import subprocess
from collections.abc import Mapping

from deploy.local.errors import CheckFailed
from deploy.local.layout import Installation
from deploy.local.programs import base_environment


def ensure(installation: Installation, environ: Mapping[str, str]) -> str:
    """Make the interface when missing; returns the service address."""
    address = service_address(installation, environ)
    if not installation.root or environ.get("ROOST_SERVICE_ADDRESS"):
        return address
    interface = installation.interface
    holders = [name for name, held in addresses().items() if address in held]
    if holders and holders != [interface]:
        raise CheckFailed(
            f"The address {address} is already in use on {holders[0]}.",
            "Give this installation a range of its own with ROOST_NETWORK_POOL.",
        )
    if interface not in addresses():
        _ip("link", "add", interface, "type", "dummy")
    if not holders:
        _ip("address", "add", f"{address}/32", "dev", interface)
    _ip("link", "set", interface, "up")
    return address


def service_address(installation: Installation, environ: Mapping[str, str]) -> str:
    """The address, whether it is there yet or not."""
    if given := environ.get("ROOST_SERVICE_ADDRESS"):
        return given
    return installation.pool_address if installation.root else _bridge_gateway()


def remove(installation: Installation) -> bool:
    """Take the interface away; True when there was one."""
    if not installation.root or installation.interface not in addresses():
        return False
    _ip("link", "delete", installation.interface)
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
