"""Agents with a list of hosts: the way to a name opens with the answer, and to nothing else. The
upstream resolver and the host outside are real, on addresses of this machine."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.conf import settings
from django.utils.timezone import now

from controlplane.agents.actions import create_agent, update_agent
from provisioner import dns_server, guard, networks, reach, rounds
from provisioner.grants import Grants
from provisioner.guard_watch import GuardWatch
from provisioner.models import Node
from provisioner.reach import Reach
from provisioner.resolver import AgentResolver
from tests.engine.barring import denied, refused_at_once, who
from tests.engine.conftest import ADDRESS, INSTALLATION, as_node, policy, wait_for
from tests.engine.listeners import PRIVATE, PUBLIC, beyond
from tests.provisioner.naming import UPSTREAM, Zone, a, upstream

NAME, ELSEWHERE, INSIDE = "api.example.com", "evil.example.com", "inside.example.com"
PORT = 8099


@pytest.fixture(autouse=True)
def here(state) -> Iterator[None]:
    with as_node(state):
        yield


def listing(box, *entries: str) -> Reach:
    return Reach(box.agent_id, *who(box), "list", entries)


@contextmanager
def naming(agents: list[Reach], monkeypatch) -> Iterator[Grants]:
    """The node with these agents, its resolver and an upstream that knows three names."""

    def wanted() -> guard.Policy:
        return policy(listed=tuple(agent.listed for agent in agents if agent.listed))

    monkeypatch.setattr(reach, "guard_policy", wanted)  # in the place of rows in the database
    zone = Zone({
        (f"{NAME}.", "A"): [a(NAME, PUBLIC)],
        (f"{ELSEWHERE}.", "A"): [a(ELSEWHERE, PUBLIC)],
        (f"{INSIDE}.", "A"): [a(INSIDE, PRIVATE)],
    })  # fmt: skip
    grants = Grants()
    guard.load(wanted())
    resolver = AgentResolver([UPSTREAM], grants, lambda: agents)
    with upstream(zone), dns_server.answering(resolver, ADDRESS, poll=0.05):
        yield grants
    guard.load(policy())


@pytest.fixture
def outside() -> Iterator[None]:
    with beyond():
        yield


@pytest.fixture
def listed(acme_box, outside, monkeypatch) -> Iterator[Grants]:
    entries = (f"{NAME}:{PORT}", f"{INSIDE}:{PORT}")
    with naming([listing(acme_box, *entries)], monkeypatch) as grants:
        yield grants


LOOK_UP = """
import json, socket, sys
try:
    print(json.dumps(sorted({row[4][0] for row in socket.getaddrinfo(sys.argv[1], 1)})))
except OSError:
    print("[]")
"""


def test_the_way_opens_with_the_answer(acme_box, listed):
    """An address without its name opens nothing."""
    refused_at_once(acme_box, (PUBLIC, PORT))

    (knock,) = acme_box.connect((NAME, PORT))

    assert knock.result == "open"
    assert acme_box.ask(LOOK_UP, NAME) == [PUBLIC]


def test_it_opens_for_that_port_and_that_agent_alone(acme_box, neighbour, listed):
    assert acme_box.connect((NAME, PORT))[0].result == "open"

    refused_at_once(acme_box, (PUBLIC, PORT + 1), (PUBLIC, 443))
    refused_at_once(neighbour, (PUBLIC, PORT))


def test_another_name_of_the_same_address_is_not_known(acme_box, listed):
    assert acme_box.ask(LOOK_UP, ELSEWHERE) == []

    refused_at_once(acme_box, (PUBLIC, PORT))


def test_a_name_that_was_bound_to_an_inner_address_leads_nowhere(acme_box, listed):
    assert acme_box.ask(LOOK_UP, INSIDE) == []

    refused_at_once(acme_box, (PRIVATE, PORT))


def test_a_way_closes_when_its_time_is_over(acme_box, listed):
    guard.allow(INSTALLATION, who(acme_box), [(PUBLIC, PORT)], 2)
    assert acme_box.connect((PUBLIC, PORT))[0].result == "open"

    wait_for(lambda: acme_box.connect((PUBLIC, PORT))[0].result == "refused", 10)


def test_being_told_again_makes_it_last_longer(acme_box, listed):
    guard.allow(INSTALLATION, who(acme_box), [(PUBLIC, PORT)], 1)
    guard.allow(INSTALLATION, who(acme_box), [(PUBLIC, PORT)], 300)

    time.sleep(1.5)

    assert acme_box.connect((PUBLIC, PORT))[0].result == "open"


def test_loading_the_rules_anew_cuts_nobody_off(acme_box, listed):
    assert acme_box.connect((NAME, PORT))[0].result == "open"
    done = threading.Event()

    def load() -> None:
        while not done.is_set():
            reach.refresh()

    thread = threading.Thread(target=load)
    thread.start()
    try:
        # A first packet may meet the moment of a change and is sent again, after a second.
        knocks = acme_box.connect(*[(PUBLIC, PORT)] * 40)
    finally:
        done.set()
        thread.join()

    assert {knock.result for knock in knocks} == {"open"}


@pytest.mark.parametrize("entries", [(), ("*.other.example",)], ids=["closed", "another list"])
def test_another_policy_closes_what_the_old_one_opened(acme_box, listed, entries, monkeypatch):
    assert acme_box.connect((NAME, PORT))[0].result == "open"
    another = listing(acme_box, *entries).listed if entries else None

    guard.set_agent(INSTALLATION, who(acme_box), is_open=False, listed=another)

    refused_at_once(acme_box, (PUBLIC, PORT))


def test_another_policy_in_the_database_closes_it_with_the_next_load(acme_box, listed):
    assert acme_box.connect((NAME, PORT))[0].result == "open"

    guard.load(policy(listed=(listing(acme_box, "other.example").listed,)))

    refused_at_once(acme_box, (PUBLIC, PORT))


def test_an_answer_by_an_old_list_opens_nothing(acme_box, listed):
    """Asked for before the list was changed, answered after it."""
    old = listing(acme_box, "old.example")

    with pytest.raises(guard.GuardError, match="just changed"):
        reach.allow(old, [(PUBLIC, PORT)], 300)

    refused_at_once(acme_box, (PUBLIC, PORT))


def test_a_connection_outlives_the_policy_that_opened_it(acme_box, listed):
    acme_box.run("rm", "-f", "/workspace/go", "/workspace/on")
    said = []
    talk = threading.Thread(target=lambda: said.append(acme_box.python(TALK, NAME, str(PORT))))
    talk.start()
    wait_for(lambda: acme_box.run("test", "-e", "/workspace/on").code == 0, 10)
    guard.load(policy())
    refused_at_once(acme_box, (PUBLIC, PORT))

    acme_box.run("touch", "/workspace/go")
    talk.join()

    assert said[0].said.startswith("HTTP/1.0 200")


TALK = """
import os, socket, sys, time
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as one:
    open("/workspace/on", "w").close()
    while not os.path.exists("/workspace/go"):
        time.sleep(0.02)
    one.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
    print(one.recv(100).decode())
"""


def test_a_numeric_address_that_the_list_itself_names_needs_no_answer(
    acme_box, outside, monkeypatch
):
    """As a model's own address may be. An inner one stays closed."""
    agent = listing(acme_box, f"{PUBLIC}:{PORT}", f"{PRIVATE}:{PORT}")
    with naming([agent], monkeypatch):
        public, private = acme_box.connect((PUBLIC, PORT), (PRIVATE, PORT))

    assert (public.result, private.result) == ("open", "refused")


# --- somebody else removes the rules


@pytest.fixture
def watch(listed, db) -> GuardWatch:
    Node.objects.create(name=settings.ROOST_NODE, heartbeat_at=now())
    found = GuardWatch(listed)
    assert not found.look()
    return found


DELETE = ("delete", "table", "inet", guard.table_name(INSTALLATION))
FLUSH = ("flush", "table", "inet", guard.table_name(INSTALLATION))
WIDEN = ("insert", "rule", "inet", guard.table_name(INSTALLATION), "forward", "accept")


@pytest.mark.parametrize("words", [DELETE, FLUSH, WIDEN], ids=["deleted", "flushed", "widened"])
def test_rules_that_somebody_changed_are_put_back_and_told_of(acme_box, watch, words, node):
    assert acme_box.connect((NAME, PORT))[0].result == "open"
    guard._run(*words)

    assert watch.look()

    assert acme_box.connect((PUBLIC, PORT))[0].result == "open"  # what it was told still holds
    refused_at_once(acme_box, (PUBLIC, PORT + 1))
    rounds.beat(node)
    assert "put back at" in Node.objects.get().weaknesses[-1]
    assert not watch.look()


def test_our_own_loading_is_no_trouble(watch):
    reach.refresh()
    guard.allow(INSTALLATION, ("ag-1", "10.0.0.2"), [("11.0.0.1", 443)], 300)
    before = denied()

    assert not watch.look()
    assert denied() == before


def test_a_release_with_a_list_is_in_effect_with_its_container_and_gone_with_it(
    backend, go, as_alice
):
    def in_effect(agent) -> str | None:
        placed = networks.find(agent)
        return guard.list_of(INSTALLATION, (placed.network.bridge, placed.address))

    made = create_agent(as_alice, name="scout", runtime="hermes", disk_gib=1, egress="list",
                        egress_hosts=["api.example.com"])  # fmt: skip
    agent = go(made)
    assert agent.status == "running", agent.message
    first = in_effect(agent)
    update_agent(as_alice, agent, egress_hosts=["other.example.com"])
    second = in_effect(go(agent))
    update_agent(as_alice, agent, egress="none")

    assert in_effect(go(agent)) is None
    assert None not in {first, second}
    assert first != second
