"""The node's DNS: an authoritative no for closed agents, the host's resolvers for open ones, and
for agents with a list the public addresses of listed names, after the guard lets them through."""

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.db import DatabaseError, connection
from dnslib import RCODE

from provisioner import dns_server, resolver, upstream
from provisioner.grants import Grants
from provisioner.guard import GuardError
from provisioner.reach import Reach
from provisioner.resolver import AgentResolver
from tests.provisioner.naming import (
    NOBODY,
    PUBLIC,
    UPSTREAM,
    Zone,
    a,
    addresses,
    ask,
    cname,
    silent,
    txt,
)
from tests.provisioner.naming import upstream as upstream_server

OPEN, CLOSED, LISTED, STRANGER = "127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"
HOSTS = ("api.example.com", "*.wild.example", "odd.example.com:8443", "bücher.example")
AGENTS = [
    Reach("agt_open", "ag-0", OPEN, "open"),
    Reach("agt_closed", "ag-0", CLOSED, "none"),
    Reach("agt_listed", "ag-0", LISTED, "list", HOSTS),
]


class Ways(list):
    """What the guard was told to let through, in the guard's place."""

    def __call__(self, agent, targets, seconds) -> None:
        self.append((agent.agent_id, set(targets), seconds))


@contextmanager
def node(servers: list[str], ways=None, agents=lambda: AGENTS) -> Iterator[int]:
    made = AgentResolver(servers, Grants(Ways() if ways is None else ways), agents)
    with dns_server.answering(made, "127.0.0.1", 0, poll=0.01) as port:
        yield port


@contextmanager
def listed(zone: Zone, ways=None) -> Iterator[int]:
    with upstream_server(zone), node([UPSTREAM], ways) as port:
        yield port


@pytest.fixture(autouse=True)
def soon(monkeypatch) -> None:
    monkeypatch.setattr(upstream, "TIMEOUT", 0.3)


@pytest.mark.parametrize("asker", [CLOSED, STRANGER])
@pytest.mark.parametrize("tcp", [False, True], ids=["UDP", "TCP"])
@pytest.mark.parametrize("kind", ["A", "AAAA", "TXT", "ANY"])
def test_a_closed_agent_gets_an_authoritative_no_at_once(asker, tcp, kind):
    with listed(zone := Zone()) as port:
        answer = ask(port, asker=asker, tcp=tcp, kind=kind)

    assert (answer.header.rcode, answer.header.aa) == (RCODE.NXDOMAIN, 1)
    assert zone.asked == []


@pytest.mark.parametrize("tcp", [False, True], ids=["UDP", "TCP"])
def test_an_open_agent_gets_what_the_hosts_resolver_says(tcp):
    with listed(zone := Zone()) as port:
        answer = ask(port, asker=OPEN, tcp=tcp)

    assert (addresses(answer), answer.header.rcode) == ([PUBLIC], RCODE.NOERROR)
    assert zone.asked == [f"example.com. A {'tcp' if tcp else 'udp'}"]


def test_an_answer_too_large_for_a_datagram_comes_over_tcp():
    many = Zone({("big.example.", "TXT"): [txt("big.example", "x" * 200) for _ in range(9)]})
    with listed(many) as port:
        short = ask(port, asker=OPEN, name="big.example", kind="TXT")
        whole = ask(port, asker=OPEN, name="big.example", kind="TXT", tcp=True)

    assert (short.header.tc, len(short.rr)) == (1, 0)
    assert (whole.header.tc, len(whole.rr)) == (0, 9)


def test_a_silent_upstream_is_passed_over():
    with silent(), upstream_server(Zone()), node([NOBODY, UPSTREAM]) as port:
        answer = ask(port, asker=OPEN)

    assert addresses(answer) == [PUBLIC]


@pytest.mark.parametrize("noise", [b"noise", b"\0" * 12, b"\xff" * 40], ids=repr)
def test_noise_from_an_upstream_is_passed_over(noise):
    with silent() as noisy:
        babble = threading.Thread(target=lambda: noisy.sendto(noise, noisy.recvfrom(512)[1]))
        babble.start()
        with upstream_server(Zone()), node([NOBODY, UPSTREAM]) as port:
            answer = ask(port, asker=OPEN)
        babble.join()

    assert addresses(answer) == [PUBLIC]


@pytest.mark.parametrize("asker", [OPEN, LISTED])
@pytest.mark.parametrize("upstreams", [[], [NOBODY], ["fe80::1", "not an address"]])
def test_without_any_upstream_it_says_that_it_failed(upstreams, asker):
    with node(upstreams) as port:
        answer = ask(port, asker=asker, name="api.example.com")

    assert answer.header.rcode == RCODE.SERVFAIL


def test_a_port_that_is_taken_for_tcp_is_left_for_another(monkeypatch):
    made, real = [], dns_server.DNSServer

    def taken_once(*args, **words):
        made.append(words["port"])
        if words.get("tcp") and len(made) == 2:
            raise OSError(98, "Address already in use")
        return real(*args, **words)

    monkeypatch.setattr(dns_server, "DNSServer", taken_once)
    with node([]) as port:
        assert made == [0, made[1], 0, port]


@pytest.mark.parametrize(
    "noise", [b"", b"\0", b"\xff" * 12, b"\0" * 11, b"\x12\x34" + b"\xc0" * 40]
)
@pytest.mark.parametrize("tcp", [False, True], ids=["UDP", "TCP"])
def test_noise_ends_nothing(noise, tcp, capfd):
    with node([]) as port:
        for _ in range(20):
            with socket.socket(type=socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM) as one:
                one.connect(("127.0.0.1", port))
                one.sendall(noise)
        answer = ask(port, asker=CLOSED)

    assert answer.header.rcode == RCODE.NXDOMAIN
    assert "Traceback" not in capfd.readouterr().err


# --- agents with a list


def test_an_agent_with_a_list_is_told_what_the_guard_already_lets_through():
    ways = Ways()
    with listed(Zone(), ways) as port:
        answer = ask(port, asker=LISTED, name="Api.Example.COM.")

    assert addresses(answer) == [PUBLIC]
    assert ways == [("agt_listed", {(PUBLIC, 80), (PUBLIC, 443)}, 300)]


@pytest.mark.parametrize(
    ("name", "ports"),
    [("odd.example.com", {8443}), ("a.b.wild.example", {80, 443}),
     ("xn--bcher-kva.example", {80, 443})],
)  # fmt: skip
def test_it_may_use_the_listed_ports_of_a_listed_name(name, ports):
    ways = Ways()
    with listed(Zone(), ways) as port:
        assert addresses(ask(port, asker=LISTED, name=name)) == [PUBLIC]

    assert ways[0][1] == {(PUBLIC, one) for one in ports}


@pytest.mark.parametrize(
    "name",
    ["example.com", "wild.example", "evil-wild.example", "api.example.com.evil.example",
     "xapi.example.com", "secret.api.example.com", "com", ".", "2.33.22.11.in-addr.arpa"],
)  # fmt: skip
def test_a_name_that_is_not_in_the_list_is_nowhere_asked_for(name):
    ways = Ways()
    with listed(zone := Zone(), ways) as port:
        answer = ask(port, asker=LISTED, name=name)

    assert (answer.header.rcode, answer.header.aa) == (RCODE.NXDOMAIN, 1)
    assert (zone.asked, ways) == ([], [])


@pytest.mark.parametrize("kind", ["AAAA", "TXT", "MX", "HTTPS", "SRV", "ANY", "NS", "CNAME"])
def test_of_a_listed_name_it_learns_the_address_and_nothing_else(kind):
    with listed(zone := Zone()) as port:
        answer = ask(port, asker=LISTED, name="api.example.com", kind=kind)

    assert (answer.header.rcode, answer.rr, zone.asked) == (RCODE.NOERROR, [], [])


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.213.255.1", "192.168.1.1", "172.17.0.1", "169.254.169.254", "100.64.0.1",
     "0.0.0.1", "224.0.0.1", "255.255.255.255"],
)  # fmt: skip
def test_a_listed_name_that_leads_inside_leads_nowhere(address):
    """DNS rebinding: whoever owns the name answers with an address of ours."""
    ways = Ways()
    name = "api.example.com."
    with listed(Zone({(name, "A"): [a(name, address), a(name, PUBLIC)]}), ways) as port:
        both = ask(port, asker=LISTED, name=name)
    with listed(Zone({(name, "A"): [a(name, address)]})) as port:
        alone = ask(port, asker=LISTED, name=name)

    assert (addresses(both), ways[0][1]) == ([PUBLIC], {(PUBLIC, 80), (PUBLIC, 443)})
    assert (alone.header.rcode, alone.rr) == (RCODE.NOERROR, [])


def test_a_chain_of_names_is_followed_and_what_is_beside_it_left_out():
    name = "api.example.com."
    chain = [cname(name, "edge.cdn.example"), cname("edge.cdn.example", "e7.cdn.example"),
             a("e7.cdn.example", PUBLIC), a("other.example", "11.22.33.9")]  # fmt: skip
    ways = Ways()
    with listed(Zone({(name, "A"): chain}), ways) as port:
        answer = ask(port, asker=LISTED, name=name)

    assert addresses(answer) == [PUBLIC]
    assert [str(record.rname) for record in answer.rr][-1] == "e7.cdn.example."
    assert ways[0][1] == {(PUBLIC, 80), (PUBLIC, 443)}


@pytest.mark.parametrize(
    ("ttl", "told", "open_for"), [(5, 5, 300), (900, 900, 960), (10**6, 3600, 3660)]
)
def test_a_way_stays_open_longer_than_its_address_may_be_kept(ttl, told, open_for):
    name = "api.example.com."
    ways = Ways()
    with listed(Zone({(name, "A"): [a(name, PUBLIC, ttl)]}), ways) as port:
        answer = ask(port, asker=LISTED, name=name)

    assert (answer.rr[0].ttl, ways[0][2]) == (told, open_for)


def test_a_large_answer_for_a_list_is_fetched_over_tcp():
    name = "api.example.com."
    many = [a(name, f"11.22.{i // 200}.{1 + i % 200}") for i in range(60)]
    ways = Ways()
    with listed(zone := Zone({(name, "A"): many}), ways) as port:
        answer = ask(port, asker=LISTED, name=name, tcp=True)

    assert [line.split()[2] for line in zone.asked] == ["udp", "tcp"]
    assert len(addresses(answer)) == 32
    assert {address for address, _ in ways[0][1]} == set(addresses(answer))


def test_a_name_that_does_not_exist_is_told_so():
    with listed(Zone({})) as port:
        answer = ask(port, asker=LISTED, name="no.wild.example")

    assert (answer.header.rcode, answer.rr) == (RCODE.NXDOMAIN, [])


def test_nothing_of_the_question_but_the_name_goes_any_further():
    with silent() as server, node([NOBODY]) as port, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(ask, port, asker=LISTED, name="ApI.eXaMpLe.com")
        heard = server.recv(512)
        waiting.result()

    assert b"\3api\7example\3com\0" in heard
    assert len(heard) == 12 + 17 + 4


def test_where_the_guard_says_no_the_agent_is_told_nothing():
    def refuses(*_: object) -> None:
        raise GuardError

    with listed(Zone(), refuses) as port:
        answer = ask(port, asker=LISTED, name="api.example.com")

    assert (answer.header.rcode, answer.rr) == (RCODE.SERVFAIL, [])


# --- who is asked how often


def test_the_list_of_agents_outlives_the_database(monkeypatch):
    away = False

    def agents() -> list[Reach]:
        if away:
            raise DatabaseError
        return AGENTS

    found = AgentResolver([], Grants(Ways()), agents)
    assert found.agent_at(OPEN).egress == "open"
    away = True
    monkeypatch.setattr(resolver, "TTL", -1.0)

    assert found.agent_at(OPEN).egress == "open"


def test_an_agent_that_was_just_born_is_known(monkeypatch):
    agents = AGENTS[:1]
    found = AgentResolver([], Grants(Ways()), lambda: agents)
    assert found.agent_at(LISTED) is None
    agents = AGENTS
    monkeypatch.setattr(resolver, "STRANGER_TTL", -1.0)

    assert found.agent_at(LISTED).egress == "list"


def test_a_slow_database_keeps_one_asker_waiting_and_no_other(monkeypatch):
    asked, go_on = threading.Event(), threading.Event()
    slow = False

    def agents() -> list[Reach]:
        if slow:
            asked.set()
            assert go_on.wait(10)
            return []
        return AGENTS

    found = AgentResolver([], Grants(Ways()), agents)
    assert found.agent_at(OPEN)
    slow = True
    monkeypatch.setattr(resolver, "TTL", -1.0)
    with ThreadPoolExecutor(10) as threads:
        first = threads.submit(found.agent_at, OPEN)
        assert asked.wait(10)
        others = [threads.submit(found.agent_at, OPEN).result(5) for _ in range(9)]
        go_on.set()

    assert others == [AGENTS[0]] * 9
    assert first.result() is None


@pytest.mark.parametrize(
    ("bound", "other_code"), [("MOST", RCODE.SERVFAIL), ("MOST_EACH", RCODE.NOERROR)]
)
def test_questions_beyond_what_an_agent_or_all_may_hold_fail_at_once(
    monkeypatch, bound, other_code
):
    """One agent cannot take the places of all."""
    monkeypatch.setattr(upstream, bound, 2)
    monkeypatch.setattr(upstream, "TIMEOUT", 2.0)
    with (
        silent() as server,
        upstream_server(Zone()),
        node([NOBODY, UPSTREAM]) as port,
        ThreadPoolExecutor(3) as threads,
    ):
        waiting = [threads.submit(ask, port, asker=OPEN) for _ in range(2)]
        heard = [server.recv(512) for _ in waiting]
        began = time.monotonic()
        beyond = ask(port, asker=OPEN)
        took = time.monotonic() - began
        other = ask(port, asker=LISTED, name="api.example.com")
        assert [addresses(one.result()) for one in waiting] == [[PUBLIC]] * 2
        freed = ask(port, asker=OPEN)

    assert (beyond.header.rcode, took < 1, len(heard)) == (RCODE.SERVFAIL, True, 2)
    assert other.header.rcode == other_code
    assert addresses(freed) == [PUBLIC]


def test_idle_connections_of_one_agent_keep_no_other_waiting(monkeypatch):
    monkeypatch.setattr(dns_server, "MOST_CONNECTIONS", 2)
    with node([]) as port:
        idle = []
        for _ in range(6):
            one = socket.socket()
            one.bind((OPEN, 0))
            one.connect(("127.0.0.1", port))
            idle.append(one)
        closed = [one for one in idle if _ended(one)]
        answer = ask(port, asker=CLOSED, tcp=True)
        for one in idle:
            one.close()

    assert len(closed) == 4
    assert answer.header.rcode == RCODE.NXDOMAIN


def _ended(one: socket.socket) -> bool:
    one.settimeout(0.3)
    try:
        return one.recv(1) == b""
    except TimeoutError:
        return False


@pytest.mark.django_db(transaction=True)
def test_a_question_leaves_no_connection_to_the_database_behind(monkeypatch):
    """Each comes in a thread of its own, which would take its connection to its grave."""
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 60)
    with dns_server.answering(AgentResolver([]), "127.0.0.1", 0, poll=0.01) as port:
        ask(port, asker=CLOSED)
        time.sleep(0.1)

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        assert cursor.fetchone()[0] == 1
