from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Network

import pytest

from deploy.local import network
from deploy.local.errors import CheckFailed
from deploy.local.layout import Installation

pytestmark = pytest.mark.engine


@pytest.fixture
def own(installation: Installation) -> Iterator[Installation]:
    own = replace(installation, name="net-test", root=True, pool=IPv4Network("10.98.0.0/16"))
    yield own
    network.remove(own)


def test_the_interface_is_made_once_and_taken_away(own: Installation) -> None:
    assert network.ensure(own, {}) == "10.98.255.1"
    assert network.ensure(own, {}) == "10.98.255.1"
    assert network.addresses()["roost-net-test"] == ["10.98.255.1"]
    assert network.remove(own)
    assert "roost-net-test" not in network.addresses()
    assert not network.remove(own)


def test_two_installations_in_one_pool_are_told_apart(own: Installation) -> None:
    network.ensure(own, {})
    with pytest.raises(CheckFailed, match=r"10\.98\.255\.1 is already in use on roost-net-test"):
        network.ensure(replace(own, name="second"), {})
    assert "roost-second" not in network.addresses()


def test_a_given_address_is_taken_as_it_is(own: Installation) -> None:
    assert network.ensure(own, {"ROOST_SERVICE_ADDRESS": "192.0.2.7"}) == "192.0.2.7"
    assert "roost-net-test" not in network.addresses()


def test_without_root_it_is_the_engine_s_own_bridge(own: Installation) -> None:
    (bridge,) = network.addresses()["docker0"]
    assert network.ensure(replace(own, root=False), {}) == bridge
