"""The node's DNS: an authoritative no for closed agents, the host's resolvers for open ones."""

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.db import DatabaseError, connection
from dnslib import QTYPE, RCODE, RR, A, DNSRecord
from dnslib.server import BaseResolver, DNSLogger, DNSServer

from provisioner import resolver
from provisioner.guard import Policy
from provisioner.resolver import AgentResolver, host_upstreams

OPEN, CLOSED = "127.0.0.1", "127.0.0.2"
UPSTREAM = "127.0.0.53"
NOBODY = "127.0.0.54"  # an upstream that does not answer


class Upstream(BaseResolver):
    def resolve(self, request: DNSRecord, handler: object) -> DNSRecord:
        reply = request.reply()
        reply.add_answer(RR(request.q.qname, QTYPE.A, rdata=A("11.22.33.2"), ttl=60))
        return reply


@contextmanager
def server(resolver: BaseResolver, address: str, port: int) -> Iterator[int]:
    quiet = DNSLogger(log="-request,-reply,-truncated,-data,-error")
    found = DNSServer(resolver, address=address, port=port, logger=quiet)
    found.start_thread()
    try:
        yield found.server.server_address[1]
    finally:
        found.stop()
        found.server.server_close()


def ask(port: int, *, asker: str, name: str = "example.com") -> DNSRecord:
    with socket.socket(type=socket.SOCK_DGRAM) as one:
        one.bind((asker, 0))
        one.settimeout(5)
        one.sendto(DNSRecord.question(name).pack(), ("127.0.0.1", port))
        return DNSRecord.parse(one.recv(4096))


@pytest.fixture
def policy(monkeypatch) -> None:
    """One agent may reach the internet."""
    found = Policy("tests", "ag-", "10.0.0.1", (), (("ag-0", OPEN),))
    monkeypatch.setattr(resolver, "guard_policy", lambda: found)
    monkeypatch.setattr(resolver, "UPSTREAM_TIMEOUT", 0.3)


def test_a_closed_agent_gets_an_authoritative_no_at_once(policy):
    with server(AgentResolver([NOBODY]), "127.0.0.1", 0) as port:
        answer = ask(port, asker=CLOSED)

    assert (answer.header.rcode, answer.header.aa) == (RCODE.NXDOMAIN, 1)


def test_an_open_agent_gets_what_the_hosts_resolver_says(policy):
    with (
        server(Upstream(), UPSTREAM, 53),
        server(AgentResolver([UPSTREAM]), "127.0.0.1", 0) as port,
    ):
        answer = ask(port, asker=OPEN)

    assert str(answer.rr[0].rdata) == "11.22.33.2"
    assert answer.header.rcode == RCODE.NOERROR


def test_a_silent_upstream_is_passed_over(policy):
    with (
        socket.socket(type=socket.SOCK_DGRAM) as silent,
        server(Upstream(), UPSTREAM, 53),
        server(AgentResolver([NOBODY, UPSTREAM]), "127.0.0.1", 0) as port,
    ):
        silent.bind((NOBODY, 53))
        answer = ask(port, asker=OPEN)

    assert str(answer.rr[0].rdata) == "11.22.33.2"


def test_noise_from_an_upstream_is_passed_over(policy):
    with socket.socket(type=socket.SOCK_DGRAM) as noisy:
        noisy.bind((NOBODY, 53))
        babble = threading.Thread(target=lambda: noisy.sendto(b"noise", noisy.recvfrom(512)[1]))
        babble.start()
        with (
            server(Upstream(), UPSTREAM, 53),
            server(AgentResolver([NOBODY, UPSTREAM]), "127.0.0.1", 0) as port,
        ):
            answer = ask(port, asker=OPEN)
        babble.join()

    assert str(answer.rr[0].rdata) == "11.22.33.2"


@pytest.mark.parametrize("upstreams", [[], [NOBODY], ["fe80::1", "not an address"]])
def test_without_any_upstream_it_says_that_it_failed(policy, upstreams):
    with server(AgentResolver(upstreams), "127.0.0.1", 0) as port:
        answer = ask(port, asker=OPEN)

    assert answer.header.rcode == RCODE.SERVFAIL


@pytest.mark.parametrize(
    "noise", [b"", b"\0", b"\xff" * 12, b"\0" * 11, b"\x12\x34" + b"\xc0" * 40]
)
def test_noise_ends_nothing(policy, noise, capfd):
    with server(AgentResolver([]), "127.0.0.1", 0) as port:
        with socket.socket(type=socket.SOCK_DGRAM) as one:
            for _ in range(20):
                one.sendto(noise, ("127.0.0.1", port))
        answer = ask(port, asker=CLOSED)

    assert answer.header.rcode == RCODE.NXDOMAIN
    assert "Traceback" not in capfd.readouterr().err


def test_the_list_of_open_agents_outlives_the_database(policy, monkeypatch):
    found = AgentResolver([])
    assert found.open_addresses() == {OPEN}

    def away() -> Policy:
        raise DatabaseError

    monkeypatch.setattr(resolver, "guard_policy", away)
    monkeypatch.setattr(resolver, "TTL", -1.0)

    assert found.open_addresses() == {OPEN}


def test_a_slow_database_keeps_one_asker_waiting_and_no_other(policy, monkeypatch):
    found = AgentResolver([])
    assert found.open_addresses() == {OPEN}
    asked, go_on = threading.Event(), threading.Event()

    def slow() -> Policy:
        asked.set()
        assert go_on.wait(10)
        return Policy("tests", "ag-", "10.0.0.1", (), ())

    monkeypatch.setattr(resolver, "guard_policy", slow)
    monkeypatch.setattr(resolver, "TTL", -1.0)
    with ThreadPoolExecutor(10) as threads:
        first = threads.submit(found.open_addresses)
        assert asked.wait(10)
        others = [threads.submit(found.open_addresses).result(5) for _ in range(9)]
        go_on.set()

    assert others == [{OPEN}] * 9
    assert first.result() == set()


def test_questions_beyond_what_upstream_may_hold_fail_at_once(policy, monkeypatch):
    monkeypatch.setattr(resolver, "MOST_UPSTREAM", 2)
    monkeypatch.setattr(resolver, "UPSTREAM_TIMEOUT", 2.0)
    with (
        socket.socket(type=socket.SOCK_DGRAM) as silent,
        server(AgentResolver([NOBODY]), "127.0.0.1", 0) as port,
        ThreadPoolExecutor(2) as threads,
    ):
        silent.bind((NOBODY, 53))
        silent.settimeout(5)
        waiting = [threads.submit(ask, port, asker=OPEN) for _ in range(2)]
        heard = [silent.recv(512) for _ in waiting]
        began = time.monotonic()
        answer = ask(port, asker=OPEN)
        took = time.monotonic() - began
        assert [one.result().header.rcode for one in waiting] == [RCODE.SERVFAIL] * 2
        threads.submit(ask, port, asker=OPEN)
        freed = silent.recv(512)

    assert (answer.header.rcode, took < 1) == (RCODE.SERVFAIL, True)
    assert len(heard) == 2
    assert freed


@pytest.mark.django_db(transaction=True)
def test_a_question_leaves_no_connection_to_the_database_behind(monkeypatch):
    """Each comes in a thread of its own, which would take its connection to its grave."""
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 60)
    with server(AgentResolver([]), "127.0.0.1", 0) as port:
        ask(port, asker=CLOSED)
        time.sleep(0.1)

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        assert cursor.fetchone()[0] == 1


def test_the_hosts_resolvers_are_read_from_its_file(tmp_path):
    file = tmp_path / "resolv.conf"
    file.write_text("# nameserver 1.1.1.1\nsearch x\nnameserver 10.0.0.53\nnameserver\t10.0.0.54\n")

    assert host_upstreams(file) == ["10.0.0.53", "10.0.0.54"]
    assert host_upstreams(tmp_path / "none") == []
