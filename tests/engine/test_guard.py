"""What an agent reaches on the network. Everything it must not reach really listens."""

import json
import socket
import subprocess
import threading

import httpx
import pytest

from provisioner import guard, names, rounds
from tests.engine.box import box, network_of
from tests.engine.conftest import (
    ACME,
    ADDRESS,
    INSTALLATION,
    MODEL_PORT,
    POOL,
    UMBRELLA,
    policy,
    wait_for,
)
from tests.engine.listeners import ANYWHERE, PRIVATE, PUBLIC, beyond, listening

AT_ONCE = 2.0  # seconds: refused, not left hanging
METADATA = "169.254.169.254"
DOCUMENTATION = "203.0.113.1"  # nobody's
ACME_NET = network_of(INSTALLATION, POOL, ACME)
UMBRELLA_NET = network_of(INSTALLATION, POOL, UMBRELLA)


@pytest.fixture(scope="module")
def neighbour(node, tiny, acme_box):
    """Another agent of the same organisation."""
    with box(node, tiny, ACME_NET, host=3) as made:
        yield made


@pytest.fixture(scope="module")
def stranger(node, tiny, acme_box):
    """An agent of another organisation."""
    with box(node, tiny, UMBRELLA_NET) as made:
        yield made


@pytest.fixture(autouse=True)
def closed(acme_box):
    guard.load(policy())


@pytest.fixture
def opened(acme_box):
    guard.load(policy((ACME_NET.bridge, acme_box.address)))


def denied() -> int:
    """Packets that the guard's chain `deny` has refused."""
    listed = subprocess.run(
        ["nft", "-j", "list", "chain", "inet", guard.table_name(INSTALLATION), "deny"],
        capture_output=True,
        check=True,
    )
    rules = [row["rule"]["expr"] for row in json.loads(listed.stdout)["nftables"] if "rule" in row]
    return sum(part["counter"]["packets"] for rule in rules for part in rule if "counter" in part)


def refused_at_once(box, *targets):
    before = denied()
    knocks = box.connect(*targets)
    assert [k for k in knocks if k.result not in {"refused", "EHOSTUNREACH"}] == []
    assert max(knock.seconds for knock in knocks) < AT_ONCE
    assert denied() - before >= len(targets), "it was not the guard that refused"


def test_the_host(acme_box, stranger):
    docker0 = addresses(["ip"], "-4", "docker0")[0]["local"]
    with listening(ANYWHERE) as port:
        refused_at_once(
            acme_box,
            (ACME_NET.gateway, port),
            (UMBRELLA_NET.gateway, port),
            (docker0, port),
            (ADDRESS, port),
        )


def test_the_platforms_own_services(acme_box, services):
    """Also by the address and port an operator could have bound them to by mistake."""
    vault = int(services["VAULT_ADDR"].rsplit(":", 1)[1])
    ports = (22, 2375, 5432, 6379, vault, 8700, 8702)
    held = [port for port in ports if port not in {22, vault}]
    with listening(ADDRESS, held[0]), listening(ADDRESS, held[1]), listening(ADDRESS, held[2]):
        refused_at_once(acme_box, *((ADDRESS, port) for port in ports))
        refused_at_once(acme_box, *((ACME_NET.gateway, port) for port in ports))


def test_the_allowed_port_and_no_other(acme_box):
    knocks = acme_box.connect((ADDRESS, MODEL_PORT))

    assert [knock.result for knock in knocks] == ["open"]
    with listening(ADDRESS) as port:
        refused_at_once(acme_box, (ADDRESS, port))


def test_other_agents(acme_box, neighbour, stranger, opened):
    """Both answer the host; neither answers another agent, not even one that is open."""
    for other in (neighbour, stranger):
        answer = httpx.get(f"http://{other.address}:8642/health", trust_env=False)
        assert answer.json()["status"] == "ok"

    refused_at_once(acme_box, (neighbour.address, 8642), (stranger.address, 8642))


def test_metadata_and_other_addresses_of_the_host(acme_box):
    refused_at_once(acme_box, (METADATA, 80), (METADATA, 443), ("100.100.100.200", 80))


def test_nothing_leaves_an_agent_without_egress(acme_box):
    refused_at_once(acme_box, (DOCUMENTATION, 80), (DOCUMENTATION, 443))


def test_datagrams_are_refused_too(acme_box):
    """The answer to them is limited in rate by the kernel, so what counts is that none passes."""
    before = denied()

    code = "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('{}', {}))"
    for host, port in ((DOCUMENTATION, 53), (ACME_NET.gateway, 53), (ADDRESS, 54)):
        assert acme_box.python(code.format(host, port)).code == 0

    assert denied() - before == 3


def test_open_egress_reaches_the_public_and_nothing_private(acme_box, opened):
    with beyond() as port:
        public, private = acme_box.connect((PUBLIC, port), (PRIVATE, port))
        assert (public.result, private.result) == ("open", "refused")
        refused_at_once(acme_box, (PRIVATE, port), (METADATA, 80), (ACME_NET.gateway, port))


def test_an_agents_policy_can_be_turned_on_and_off_at_once(acme_box, neighbour):
    with beyond() as port:
        for is_open, result in ((True, "open"), (False, "refused"), (True, "open")):
            for _ in range(2):  # twice is once
                guard.set_open(INSTALLATION, ACME_NET.bridge, acme_box.address, is_open=is_open)
            assert acme_box.connect((PUBLIC, port))[0].result == result
            assert neighbour.connect((PUBLIC, port))[0].result == "refused"


def test_an_address_of_another_bridge_opens_nothing(acme_box, stranger):
    """Sets are keyed by interface: an address alone is no proof of who asks."""
    guard.load(policy((UMBRELLA_NET.bridge, acme_box.address)))

    with beyond() as port:
        assert acme_box.connect((PUBLIC, port))[0].result == "refused"


def test_ipv6_to_the_host(acme_box):
    """Switched off inside. Where it is forced on from outside the way would be open, but for the
    guard: first shown without it, then with it."""
    assert acme_box.run("cat", "/proc/sys/net/ipv6/conf/all/disable_ipv6").said.strip() == "1"
    inside = ["nsenter", "--target", str(acme_box.pid), "--net"]
    switch_on = "echo 0 > /proc/sys/net/ipv6/conf/eth0/disable_ipv6"
    subprocess.run([*inside, "sh", "-c", switch_on], check=True)
    wait_for(lambda: usable(addresses([*inside, "ip"], "-6", "eth0")), 10)
    (host,) = usable(addresses(["ip"], "-6", ACME_NET.bridge))
    with listening(f"{host}%{ACME_NET.bridge}", family=socket.AF_INET6) as port:
        knock = ["timeout", "3", "bash", "-c", f"echo > /dev/tcp/{host}%eth0/{port}"]
        guard.unload(INSTALLATION)
        assert subprocess.run([*inside, *knock], check=False).returncode == 0

        guard.load(policy())

        before = denied()
        done = subprocess.run([*inside, *knock], capture_output=True, check=False)
    assert done.returncode != 0
    assert denied() > before


def addresses(ip: list[str], family: str, device: str) -> list[dict]:
    argv = [*ip, "-j", family, "address", "show", device]
    shown = json.loads(subprocess.run(argv, capture_output=True, check=True).stdout)
    return shown[0]["addr_info"]


def usable(found: list[dict]) -> list[str]:
    """Those that the kernel has found to be nobody else's."""
    return [one["local"] for one in found if not one.get("tentative")]


def test_no_moment_is_open_while_the_rules_are_loaded_anew(acme_box):
    done = threading.Event()

    def load():
        while not done.is_set():
            guard.load(policy())

    thread = threading.Thread(target=load)
    thread.start()
    try:
        with listening(ANYWHERE) as port:
            knocks = acme_box.connect(*[(ACME_NET.gateway, port)] * 1500)
    finally:
        done.set()
        thread.join()

    assert {knock.result for knock in knocks} == {"refused"}


def test_another_installations_rules_are_left_alone(acme_box):
    def listed():
        return subprocess.run(["nft", "list", "table", "inet", "roost_neighbour"],
                              capture_output=True, text=True, check=False).stdout  # fmt: skip

    other = guard.Policy("neighbour", names.bridge_prefix("neighbour"), "10.9.9.9", (1,), ())
    guard.load(other)
    try:
        before = listed()
        guard.load(policy())
        guard.unload(INSTALLATION)
        guard.load(policy())
        assert listed() == before != ""
        assert not guard.is_loaded("neigh")
    finally:
        guard.unload("neighbour")
    assert listed() == ""


def test_rules_that_somebody_removed_are_put_back(acme_box, backend):
    guard.unload(INSTALLATION)

    rounds.keep_house(backend)

    with listening(ANYWHERE) as port:
        refused_at_once(acme_box, (ACME_NET.gateway, port))


ASK_DNS = """
import json, socket, sys, time
found = []
for server in sys.argv[2:]:
    query = bytes.fromhex("123401000001000000000000") + bytes([7]) + b"example" + bytes([3])
    query += b"com" + bytes.fromhex("0000010001")
    with socket.socket(type=socket.SOCK_DGRAM) as one:
        one.settimeout(3)
        began = time.monotonic()
        one.sendto(query, (server, 53))
        answer = one.recv(512)
    found.append({"id": answer[:2].hex(), "aa": bool(answer[2] & 4), "code": answer[3] & 15,
                  "seconds": time.monotonic() - began})
print(json.dumps(found))
"""


def test_a_closed_agent_is_told_at_once_that_there_is_no_such_name(acme_box, backend):
    """Authoritatively, or the engine's resolver would go on asking elsewhere. By the node's own
    address and by the engine's, which is the one in the agent's resolv.conf."""
    for answer in acme_box.ask(ASK_DNS, "", ADDRESS, "127.0.0.11"):
        assert (answer["id"], answer["aa"], answer["code"]) == ("1234", True, 3)
        assert answer["seconds"] < 1
