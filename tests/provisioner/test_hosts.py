"""Lists of hosts: which names they hold, on which ports."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.agents.egress import check_hosts
from provisioner.hosts import read

WEB = {80, 443}


@pytest.mark.parametrize(
    ("entry", "name", "ports"),
    [
        ("api.example.com", "api.example.com", WEB),
        ("api.example.com", "API.Example.Com.", WEB),
        ("api.example.com:8443", "api.example.com", {8443}),
        ("api.example.com", "example.com", set()),
        ("api.example.com", "x.api.example.com", set()),
        ("*.example.com", "a.example.com", WEB),
        ("*.example.com", "a.b.example.com", WEB),
        ("*.example.com", "example.com", set()),
        ("*.example.com", "badexample.com", set()),
        ("*.example.com", "a.example.com.evil.org", set()),
        ("*.example.com:22", "a.example.com", {22}),
        ("bücher.example", "xn--bcher-kva.example", WEB),
        ("xn--bcher-kva.example", "XN--BCHER-KVA.example.", WEB),
        ("*.example.com", "a b.example.com", set()),
        ("*.example.com", "\\000\\255.example.com", set()),
    ],
)
def test_which_names_an_entry_holds(entry, name, ports):
    assert read((entry,)).ports(name) == ports


def test_entries_of_one_name_add_their_ports():
    hosts = read(("api.example.com", "api.example.com:8443", "*.example.com:22"))

    assert hosts.ports("api.example.com") == {80, 443, 8443, 22}


@pytest.mark.parametrize("entry", ["", "*", "*.", "*.*.com", "x:0", "x:65536", "x:-1", "x:http",
                                   "::1:443", "fe80::1", "x:٣"])  # fmt: skip
def test_what_cannot_be_read_allows_nothing(entry):
    hosts = read((entry,))

    assert (hosts.exact, hosts.below, hosts.fixed) == ({}, {}, ())


def test_a_numeric_address_needs_no_name():
    assert read(("9.9.9.9:8000", "9.9.9.9")).fixed == (
        ("9.9.9.9", 80), ("9.9.9.9", 443), ("9.9.9.9", 8000),
    )  # fmt: skip


labels = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
names = st.lists(labels, min_size=2, max_size=4).map(".".join)


@given(names, st.one_of(st.none(), st.integers(1, 65535)), st.booleans(), names)
def test_what_the_form_accepts_is_what_the_resolver_reads(name, port, below, other):
    entry = ("*." if below else "") + name + (f":{port}" if port else "")
    try:
        (checked,) = check_hosts([entry])
    except Exception:
        return  # refused at the door
    hosts = read((checked,))
    wanted = {port} if port else WEB

    assert hosts.ports(f"a.{name}" if below else name) == wanted
    assert hosts.ports(other) in (set(), wanted)
    if other != name and not other.endswith(f".{name}"):
        assert hosts.ports(other) == set()
