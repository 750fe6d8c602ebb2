"""Putting agents' network policy into effect: guard.py writes rules, this says which and when.

Worker and node both do it, and reading the policy and loading it take two steps, so one lock of
the host orders them: a table made from an older policy never replaces a newer one.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from provisioner import guard, names
from provisioner.models import Address
from provisioner.networks import Placed, subnet_of


def refresh() -> None:
    """Load the whole table anew. Raises GuardError."""
    with _exclusive():
        guard.load(guard_policy())


def apply(placed: Placed, *, is_open: bool) -> None:
    """One agent's policy, in effect at once. Raises GuardError."""
    installation = settings.ROOST_INSTALLATION
    with _exclusive():
        if not guard.is_loaded(installation):
            guard.load(guard_policy())
        guard.set_open(installation, placed.network.bridge, placed.address, is_open=is_open)


def guard_policy() -> guard.Policy:
    """The rules as the database wants them now."""
    addresses = Address.objects.filter(
        agent__node=settings.ROOST_NODE, agent__release__egress="open"
    ).select_related("block")
    installation = settings.ROOST_INSTALLATION
    return guard.Policy(
        installation=installation,
        prefix=names.bridge_prefix(installation),
        service_address=settings.ROOST_SERVICE_ADDRESS,
        service_ports=tuple(settings.ROOST_SERVICE_PORTS),
        open=tuple(
            (
                names.bridge(installation, address.block.number),
                str(subnet_of(address.block)[address.host]),
            )
            for address in addresses
        ),
    )


@contextmanager
def _exclusive() -> Iterator[None]:
    path = settings.ROOST_STATE_DIR / "guard.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
