"""Addresses: which /28 of the pool an organisation has, and which host in it an agent is.

Explicit subnets, because the engine's own pools end at 31 networks; fixed addresses, because
the gateway then needs no look-up after a restart. An organisation that outgrows a block
gets another.
"""

import contextlib
import ipaddress
import re
from dataclasses import dataclass

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from controlplane.agents.models import Agent
from controlplane.tenants.models import Organisation
from provisioner import names
from provisioner.engines.base import NetworkSpec
from provisioner.models import Address, Block, Stray
from provisioner.strays.models import Kind

PREFIX = 28
FIRST_HOST, LAST_HOST = 2, 14  # .0 network, .1 bridge, .15 broadcast


class PoolExhausted(Exception):
    """Every block of ROOST_NETWORK_POOL is taken."""

    def __init__(self) -> None:
        super().__init__(
            f"Every network of {settings.ROOST_NETWORK_POOL} is taken. "
            "An operator must give ROOST_NETWORK_POOL a larger range."
        )


@dataclass(frozen=True)
class Placed:
    network: NetworkSpec
    address: str


def find(agent: Agent) -> Placed | None:
    address = Address.objects.filter(agent=agent).select_related("block").first()
    return _placed(address) if address else None


def place(agent: Agent) -> Placed:
    """The agent's address, allocated on first use. Raises PoolExhausted."""
    return find(agent) or _placed(_allocate(agent))


def move(agent: Agent) -> Placed:
    """The next free address of the same block, for one whose own somebody else on the network has.

    Whom it meets there is not known here: a second stranger is met at the next try, and the round
    through the block ends where it began.
    """
    with transaction.atomic():
        address = Address.objects.select_related("block").get(agent=agent)
        block = Block.objects.select_for_update().get(pk=address.block_id)
        taken = set(block.addresses.values_list("host", flat=True))
        onward = [*range(address.host + 1, LAST_HOST + 1), *range(FIRST_HOST, address.host)]
        address.host = next((host for host in onward if host not in taken), address.host)
        address.save()
    return _placed(address)


def keep(agent: Agent, address: str | None) -> None:
    """The address that its container has becomes its own, where it has none: it is what the guard
    and the gateway know it by. Not where the block is another organisation's by now."""
    where = _where(address)
    if where is None or find(agent) is not None:
        return
    number, host = where
    with contextlib.suppress(IntegrityError), transaction.atomic():
        usual = {"node": agent.node, "organisation_id": agent.organisation_id}
        block, _ = Block.objects.get_or_create(number=number, defaults=usual)
        if (block.node, block.organisation_id) == (agent.node, agent.organisation_id):
            Address.objects.create(agent=agent, block=block, host=host)


def leaves_alone(agent: Agent) -> str | None:
    """The name of the network that nobody needs once this agent is gone."""
    address = Address.objects.filter(agent=agent).select_related("block").first()
    if address is None or address.block.addresses.exclude(pk=address.pk).exists():
        return None
    if any(block == address.block.number for block, _ in _taken_by_strays()):
        return None  # a container that no row speaks of is on it
    return names.network(settings.ROOST_INSTALLATION, address.block.number)


def free(agent: Agent) -> None:
    """Give the address back, and the block with the last one. Absent counts as given back."""
    address = Address.objects.filter(agent=agent).select_related("block").first()
    if address is None:
        return
    with transaction.atomic():
        block = Block.objects.select_for_update().get(pk=address.block_id)
        address.delete()
        if not block.addresses.exists():
            block.delete()


def subnet_of(block: Block) -> ipaddress.IPv4Network:
    pool = ipaddress.IPv4Network(settings.ROOST_NETWORK_POOL)
    first = int(pool.network_address) + block.number * 2 ** (32 - PREFIX)
    return ipaddress.IPv4Network((first, PREFIX))


def who_at(address: str | None) -> tuple[str, str] | None:
    """The bridge on which an address of the pool is, and that address."""
    where = _where(address)
    if address is None or where is None:
        return None
    return names.bridge(settings.ROOST_INSTALLATION, where[0]), address


def _where(address: str | None) -> tuple[int, int] | None:
    """Block and host of an address of the pool."""
    pool = ipaddress.IPv4Network(settings.ROOST_NETWORK_POOL)
    if not address or ipaddress.ip_address(address) not in pool:
        return None
    return divmod(int(ipaddress.IPv4Address(address)) - int(pool.network_address), 16)


def strangers() -> QuerySet[Stray]:
    """Containers with an address of which no row speaks, on every node: see provisioner.strays."""
    return Stray.objects.open().filter(kind=Kind.CONTAINER).exclude(address=None)


def _taken_by_strays() -> set[tuple[int, int]]:
    """Block and host that they have or will have once they are up. Of all nodes, since a block's
    number is one node's alone."""
    found = (_where(address) for address in strangers().values_list("address", flat=True))
    return {where for where in found if where is not None}


def blocks_in_pool() -> int:
    """The pool's last /24 is kept for the platform's own service address."""
    pool = ipaddress.IPv4Network(settings.ROOST_NETWORK_POOL)
    return int((pool.num_addresses - 256) // 2 ** (32 - PREFIX))


def _placed(address: Address) -> Placed:
    return Placed(_network(address.block), str(subnet_of(address.block)[address.host]))


def _network(block: Block) -> NetworkSpec:
    subnet = subnet_of(block)
    installation = settings.ROOST_INSTALLATION
    return NetworkSpec(
        name=names.network(installation, block.number),
        bridge=names.bridge(installation, block.number),
        subnet=str(subnet),
        gateway=str(subnet[1]),
        labels=dict(names.mine(installation)),
    )


def _allocate(agent: Agent) -> Address:
    for _ in range(20):  # each try may lose a race for a number; nobody loses twenty
        try:
            with transaction.atomic():
                return _take(agent)
        except IntegrityError:
            continue
    raise PoolExhausted


def _take(agent: Agent) -> Address:
    # One at a time in an organisation, or each of its first agents would open a block of its own.
    Organisation.objects.select_for_update(no_key=True).get(pk=agent.organisation_id)
    blocks = Block.objects.filter(organisation=agent.organisation_id, node=agent.node)
    strays = _taken_by_strays()
    for block in blocks.select_for_update().order_by("number"):
        taken = set(block.addresses.values_list("host", flat=True))
        taken |= {host for number, host in strays if number == block.number}
        for host in range(FIRST_HOST, LAST_HOST + 1):
            if host not in taken:
                return Address.objects.create(agent=agent, block=block, host=host)
    block = Block.objects.create(
        number=_free_number(), node=agent.node, organisation_id=agent.organisation_id
    )
    return Address.objects.create(agent=agent, block=block, host=FIRST_HOST)


def _free_number() -> int:
    taken = set(Block.objects.values_list("number", flat=True))
    # A network that no row speaks of may have another organisation's containers on it.
    taken |= {number for number, _ in _taken_by_strays()} | _stray_networks()
    for number in range(blocks_in_pool()):
        if number not in taken:
            return number
    raise PoolExhausted


def _stray_networks() -> set[int]:
    """The numbers of those that are named as ours are."""
    rows = Stray.objects.open().filter(kind=Kind.NETWORK)
    ends = (name.rpartition("-")[2] for name in rows.values_list("identity", flat=True))
    return {int(end, 16) for end in ends if re.fullmatch("[0-9a-f]{5}", end)}
