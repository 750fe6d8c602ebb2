"""IPv6 is switched off inside. Where it is forced on from outside, the guard is all that stands
between agents, and before the host: each way is first shown open without it, then closed."""

import json
import socket
import subprocess

import pytest

from provisioner import guard
from tests.engine.barring import ACME_NET, denied
from tests.engine.conftest import INSTALLATION, policy, wait_for
from tests.engine.listeners import listening, listening_inside


@pytest.fixture(autouse=True)
def closed(acme_box):
    yield
    guard.load(policy())


def test_it_is_switched_off_inside(acme_box):
    assert acme_box.run("cat", "/proc/sys/net/ipv6/conf/all/disable_ipv6").said.strip() == "1"


def test_to_the_host(acme_box):
    force_on(acme_box)
    wait_for(lambda: usable("ip", device=ACME_NET.bridge), 10)  # as slow as the one inside
    (host,) = usable("ip", device=ACME_NET.bridge)
    with listening(f"{host}%{ACME_NET.bridge}", family=socket.AF_INET6) as port:
        guard.unload(INSTALLATION)
        assert reaches(acme_box, host, port)

        guard.load(policy())

        before = denied()
        assert not reaches(acme_box, host, port)
    assert denied() > before


def test_to_another_agent(acme_box, neighbour):
    for one in (acme_box, neighbour):
        force_on(one)
    (other,) = usable(*inside(neighbour), "ip", device="eth0")
    with listening_inside(neighbour.pid, f"{other}%eth0") as port:
        guard.unload(INSTALLATION)
        assert reaches(acme_box, other, port)

        guard.load(policy())

        before = denied()
        assert not reaches(acme_box, other, port)
    assert denied() > before


def test_open_egress_is_not_open_by_ipv6(acme_box):
    guard.load(policy((ACME_NET.bridge, acme_box.address)))
    force_on(acme_box)
    route = ["ip", "-6", "route", "replace", "2001:db8::/32", "dev", "eth0"]
    subprocess.run([*inside(acme_box), *route], check=True)

    assert not reaches(acme_box, "2001:db8::1", 443)


def inside(box) -> list[str]:
    return ["nsenter", "--target", str(box.pid), "--net"]


def force_on(box) -> None:
    switch = "echo 0 > /proc/sys/net/ipv6/conf/eth0/disable_ipv6"
    subprocess.run([*inside(box), "sh", "-c", switch], check=True)
    wait_for(lambda: usable(*inside(box), "ip", device="eth0"), 10)


def reaches(box, host: str, port: int) -> bool:
    scope = "%eth0" if host.startswith("fe80") else ""
    knock = ["timeout", "3", "bash", "-c", f"echo > /dev/tcp/{host}{scope}/{port}"]
    done = subprocess.run([*inside(box), *knock], capture_output=True, check=False)
    return done.returncode == 0


def usable(*ip: str, device: str) -> list[str]:
    """Addresses that the kernel has found to be nobody else's."""
    argv = [*ip, "-j", "-6", "address", "show", device]
    (shown,) = json.loads(subprocess.run(argv, capture_output=True, check=True).stdout)
    return [one["local"] for one in shown["addr_info"] if not one.get("tentative")]
