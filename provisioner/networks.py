"""Addresses: which /28 of the pool an organisation has, and which host in it an agent is.

Explicit subnets, because the engine's own pools end at 31 networks; fixed addresses, because
the gateway then needs no look-up after a restart. An organisation that outgrows a block
gets another.
"""

import ipaddress
from dataclasses import dataclass

from django.conf import settings
from django.db import IntegrityError, transaction

from controlplane.agents.models import Agent
from controlplane.tenants.models import Organisation
from provisioner import names
from provisioner.engines.base import NetworkSpec
from provisioner.models import Address, Block

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


def leaves_alone(agent: Agent) -> str | None:
    """The name of the network that nobody needs once this agent is gone."""
    address = Address.objects.filter(agent=agent).select_related("block").first()
    if address is None or address.block.addresses.exclude(pk=address.pk).exists():
        return None
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
    for block in blocks.select_for_update().order_by("number"):
        taken = set(block.addresses.values_list("host", flat=True))
        for host in range(FIRST_HOST, LAST_HOST + 1):
            if host not in taken:
                return Address.objects.create(agent=agent, block=block, host=host)
    block = Block.objects.create(
        number=_free_number(), node=agent.node, organisation_id=agent.organisation_id
    )
    return Address.objects.create(agent=agent, block=block, host=FIRST_HOST)


def _free_number() -> int:
    taken = set(Block.objects.values_list("number", flat=True))
    for number in range(blocks_in_pool()):
        if number not in taken:
            return number
    raise PoolExhausted
