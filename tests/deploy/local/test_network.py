import subprocess
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


def test_the_address_is_put_in_place_once_and_taken_away(own: Installation) -> None:
    assert network.ensure(own, {}) == "10.98.255.1"
    assert network.ensure(own, {}) == "10.98.255.1"
    assert network.addresses()["lo"].count("10.98.255.1") == 1
    assert network.remove(own)
    assert "10.98.255.1" not in network.addresses()["lo"]
    assert not network.remove(own)


def test_an_address_of_another_interface_is_not_taken(own: Installation) -> None:
    subprocess.run(["ip", "link", "add", "roost-test", "type", "bridge"], check=True)
    try:
        given = ["ip", "address", "add", "10.98.255.1/32", "dev", "roost-test"]
        subprocess.run(given, check=True)
        with pytest.raises(CheckFailed, match=r"10\.98\.255\.1 is already in use on roost-test"):
            network.ensure(own, {})
    finally:
        subprocess.run(["ip", "link", "delete", "roost-test"], check=True)
    assert "10.98.255.1" not in network.addresses()["lo"]


def test_a_second_installation_needs_a_range_of_its_own(own: Installation) -> None:
    with pytest.raises(CheckFailed, match="'net-test' would share its networks"):
        network.ensure(replace(own, pool=IPv4Network("10.213.0.0/16")), {})


def test_a_given_address_is_taken_as_it_is(own: Installation) -> None:
    assert network.ensure(own, {"ROOST_SERVICE_ADDRESS": "192.0.2.7"}) == "192.0.2.7"
    assert "192.0.2.7" not in network.addresses()["lo"]


def test_without_root_it_is_the_engine_s_own_bridge(own: Installation) -> None:
    (bridge,) = network.addresses()["docker0"]
    assert network.ensure(replace(own, root=False), {}) == bridge
