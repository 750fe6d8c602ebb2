"""What Docker says of a container that is down: its address is in what it was made with alone."""

from typing import Any

import pytest

from provisioner.engines import docker_reading


def seen(networks: dict[str, Any]) -> dict[str, Any]:
    return {
        "Id": "a" * 64,
        "Name": "/roost-a",
        "State": {"Status": "exited", "ExitCode": 0, "OOMKilled": False, "StartedAt": ""},
        "RestartCount": 0,
        "Config": {"Labels": None, "Image": "roost/hermes:1-1", "Env": None},
        "HostConfig": {"Memory": 0},
        "NetworkSettings": {"Networks": networks},
    }


def row(networks: dict[str, Any]) -> dict[str, Any]:
    told = {"Id": "a" * 64, "Names": ["/roost-a"], "Labels": None, "State": "exited", "Image": "i"}
    return told | {"NetworkSettings": {"Networks": networks}}


FIXED = {"n": {"IPAddress": "", "IPAMConfig": {"IPv4Address": "10.9.0.2"}}}
CHOSEN = {"n": {"IPAddress": "172.17.0.2", "IPAMConfig": None}, "m": {"IPAddress": ""}}


@pytest.mark.parametrize(
    ("networks", "address", "fixed"),
    [(FIXED, None, "10.9.0.2"), (CHOSEN, "172.17.0.2", None), ({}, None, None)],
)
def test_the_address_it_was_made_with(
    networks: dict[str, Any], address: str | None, fixed: str | None
) -> None:
    for told in (
        docker_reading.container(seen(networks)),
        docker_reading.summary(row(networks)),
    ):
        assert (told.address, told.fixed_address) == (address, fixed)
