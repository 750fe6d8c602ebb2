"""Addresses: unique for all who ask at once, given back, and a second block for the fourteenth."""

import ipaddress
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from controlplane.agents.models import Agent
from provisioner import networks
from provisioner.models import Address, Block

pytestmark = pytest.mark.django_db(transaction=True)


def agents(organisation, count: int) -> list[Agent]:
    return Agent.objects.bulk_create(
        Agent(organisation=organisation, name=f"a{number}", runtime="hermes", node="node-1")
        for number in range(count)
    )


def place(agent: Agent) -> networks.Placed:
    try:
        return networks.place(agent)
    finally:
        connection.close()


def place_all(found: list[Agent]) -> list[networks.Placed]:
    with ThreadPoolExecutor(20) as pool:
        return list(pool.map(place, found))


def test_the_first_agent_gets_the_first_host_of_the_first_block(acme, settings):
    settings.ROOST_INSTALLATION, settings.ROOST_NETWORK_POOL = "tests", "10.9.0.0/16"

    placed = networks.place(agents(acme, 1)[0])

    assert placed.address == "10.9.0.2"
    assert (placed.network.subnet, placed.network.gateway) == ("10.9.0.0/28", "10.9.0.1")
    assert placed.network.name == "roost-tests-00000"
    assert placed.network.labels == {"roost.installation": "tests"}
    assert len(placed.network.bridge) <= 15


def test_asking_twice_is_asking_once(acme):
    (agent,) = agents(acme, 1)

    assert networks.place(agent) == networks.place(agent) == networks.find(agent)
    assert Address.objects.count() == 1


def test_twenty_at_once_of_one_organisation_share_two_blocks(acme):
    placed = place_all(agents(acme, 20))

    assert len({one.address for one in placed}) == 20
    assert len({one.network.name for one in placed}) == Block.objects.count() == 2


def test_twenty_at_once_of_twenty_organisations_have_a_block_each(acme, settings):
    organisation = type(acme)
    others = [organisation.objects.create(name=f"o{n}", slug=f"o{n}") for n in range(20)]

    placed = place_all([agents(other, 1)[0] for other in others])

    assert len({one.address for one in placed}) == 20
    assert len({one.network.name for one in placed}) == 20
    pool = ipaddress.ip_network(settings.ROOST_NETWORK_POOL)
    subnets = [ipaddress.ip_network(one.network.subnet) for one in placed]
    assert all(subnet.subnet_of(pool) for subnet in subnets)


def test_the_fourteenth_agent_gets_a_second_block(acme):
    placed = [networks.place(agent) for agent in agents(acme, 14)]

    assert [one.network for one in placed[:13]] == [placed[0].network] * 13
    assert placed[13].network != placed[0].network
    hosts = {int(ipaddress.ip_address(one.address)) & 15 for one in placed[:13]}
    assert hosts == set(range(2, 15))  # not the network, not the bridge, not the broadcast


def test_a_freed_address_is_given_again_before_a_new_block(acme):
    made = agents(acme, 14)
    placed = [networks.place(agent) for agent in made[:13]]
    networks.free(made[4])

    assert networks.place(made[13]).address == placed[4].address


def test_the_last_one_out_says_which_network_nobody_needs(acme):
    first, second = agents(acme, 2)
    name = networks.place(first).network.name
    networks.place(second)

    assert networks.leaves_alone(first) is None  # the other is still in that network
    networks.free(first)
    assert networks.leaves_alone(second) == name
    for _ in range(2):
        networks.free(second)
    assert networks.leaves_alone(second) is None
    assert not Block.objects.exists()


def test_two_organisations_never_share_a_network(acme, umbrella):
    (ours,), (theirs,) = agents(acme, 1), agents(umbrella, 1)

    assert networks.place(ours).network != networks.place(theirs).network


def test_a_used_up_pool_says_what_the_operator_must_do(acme, umbrella, settings):
    settings.ROOST_NETWORK_POOL = "10.9.0.0/23"  # 32 blocks, of which 16 are the platform's own
    assert networks.blocks_in_pool() == 16
    Block.objects.bulk_create(
        Block(number=number, node="node-1", organisation=umbrella) for number in range(16)
    )

    with pytest.raises(networks.PoolExhausted, match=r"Every network of 10\.9\.0\.0/23 is taken"):
        networks.place(agents(acme, 1)[0])
    assert not Address.objects.exists()


def test_the_service_address_lies_in_no_block(settings):
    pool = ipaddress.ip_network(settings.ROOST_NETWORK_POOL)
    last = networks.subnet_of(Block(number=networks.blocks_in_pool() - 1))

    assert last.subnet_of(pool)
    assert int(last.broadcast_address) < int(ipaddress.ip_address(settings.ROOST_SERVICE_ADDRESS))


def test_an_address_that_its_container_has_is_kept(acme, umbrella):
    first, second = agents(acme, 2)
    stranger = agents(umbrella, 1)[0]
    placed = networks.place(first)
    networks.free(first)

    networks.keep(first, placed.address)
    networks.keep(second, placed.address)  # taken
    networks.keep(stranger, placed.address)  # another's block
    networks.keep(second, "10.1.2.3")  # not of the pool
    networks.keep(second, None)

    assert networks.find(first) == placed
    assert Address.objects.count() == 1
