"""What an agent reaches on the network. Everything it must not reach really listens."""

import json
import socket
import subprocess
import threading
from pathlib import Path

import httpx
import pytest

from provisioner import guard, names, rounds
from tests.engine.barring import ACME_NET, UMBRELLA_NET, denied, refused_at_once, who
from tests.engine.conftest import ADDRESS, INSTALLATION, MODEL_PORT, policy
from tests.engine.listeners import ANYWHERE, PRIVATE, PUBLIC, beyond, listening

METADATA = "169.254.169.254"
DOCUMENTATION = "203.0.113.1"  # nobody's


@pytest.fixture(autouse=True)
def closed(acme_box):
    guard.load(policy())


@pytest.fixture
def opened(acme_box):
    guard.load(policy((ACME_NET.bridge, acme_box.address)))


def test_the_host(acme_box, stranger):
    shown = subprocess.run(["ip", "-j", "-4", "address", "show", "docker0"],
                           capture_output=True, check=True).stdout  # fmt: skip
    docker0 = json.loads(shown)[0]["addr_info"][0]["local"]
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


def test_sockets_of_the_host_by_file_and_by_name(acme_box):
    """The engine's, and one that any program of the host may have open without a file."""
    attempts = """
import errno, json, socket, sys
found = []
for name in sys.argv[1:]:
    with socket.socket(socket.AF_UNIX) as one:
        try:
            one.connect(name.replace("@", "\\0"))
            found.append("open")
        except OSError as error:
            found.append(errno.errorcode[error.errno])
print(json.dumps(found))
"""
    names = ["/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"]
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0roost-tests")
        server.listen()

        found = acme_box.ask(attempts, *names, "@roost-tests")

    assert found == ["ENOENT"] * 3 + ["ECONNREFUSED"]


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
                guard.set_agent(INSTALLATION, who(acme_box), is_open=is_open, listed=None)
            assert acme_box.connect((PUBLIC, port))[0].result == result
            assert neighbour.connect((PUBLIC, port))[0].result == "refused"


def test_an_address_of_another_bridge_opens_nothing(acme_box, stranger):
    """Sets are keyed by interface: an address alone is no proof of who asks."""
    guard.load(policy((UMBRELLA_NET.bridge, acme_box.address)))

    with beyond() as port:
        assert acme_box.connect((PUBLIC, port))[0].result == "refused"


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
        assert guard.fingerprint("neigh") == ""
    finally:
        guard.unload("neighbour")
    assert listed() == ""


def test_rules_that_somebody_removed_are_put_back(acme_box, backend):
    guard.unload(INSTALLATION)

    rounds.keep_house(backend)

    with listening(ANYWHERE) as port:
        refused_at_once(acme_box, (ACME_NET.gateway, port))


def test_what_passes_between_two_ports_of_a_bridge_is_made_to_pass_the_guard(backend):
    setting = Path("/proc/sys/net/bridge/bridge-nf-call-ip6tables")
    setting.write_text("0")

    rounds.keep_house(backend)

    assert setting.read_text() == "1\n"


ASK_DNS = """
import json, socket, struct, sys, time
query = bytes.fromhex("123401000001000000000000") + bytes([7]) + b"example" + bytes([3])
query += b"com" + bytes.fromhex("0000010001")
found = []
for server in sys.argv[1:]:
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        with socket.socket(type=kind) as one:
            one.settimeout(3)
            began = time.monotonic()
            one.connect((server, 53))
            one.sendall(query if kind == socket.SOCK_DGRAM else struct.pack("!H", 29) + query)
            answer = one.recv(512)[0 if kind == socket.SOCK_DGRAM else 2:]
        found.append({"id": answer[:2].hex(), "aa": bool(answer[2] & 4), "code": answer[3] & 15,
                      "seconds": time.monotonic() - began})
print(json.dumps(found))
"""


def test_a_closed_agent_is_told_at_once_that_there_is_no_such_name(acme_box, backend):
    """Authoritatively, or the engine's resolver would go on asking elsewhere. By the node's own
    address and by the engine's, which is the one in the agent's resolv.conf; over UDP and TCP."""
    answers = acme_box.ask(ASK_DNS, ADDRESS, "127.0.0.11")

    assert [(one["id"], one["aa"], one["code"]) for one in answers] == [("1234", True, 3)] * 4
    assert max(one["seconds"] for one in answers) < 1


FLOOD = """
import json, socket, sys, time
query = bytes.fromhex("123401000001000000000000") + bytes([1]) + b"x" + bytes.fromhex("0000010001")
with socket.socket(type=socket.SOCK_DGRAM) as one:
    one.connect((sys.argv[1], 53))
    for _ in range(3000):
        one.send(query)
    one.settimeout(1)
    heard = 0
    try:
        while one.recv(512):
            heard += 1
    except TimeoutError:
        print(json.dumps(heard))
"""


def test_a_flood_of_questions_of_one_agent_leaves_the_resolver_to_the_others(
    acme_box, neighbour, backend
):
    """Most of it is dropped in the kernel, by agent; what an open one may ask is bounded too."""
    heard = acme_box.ask(FLOOD, ADDRESS)
    (answer, _) = neighbour.ask(ASK_DNS, ADDRESS)

    assert 0 < heard < 1000
    assert answer["code"] == 3
