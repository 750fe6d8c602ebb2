"""Agents' hosts: from an id to its host and back."""

import pytest

from controlplane import ids
from controlplane.agents.addresses import agent_of, is_agents_host, web_host, web_origin


@pytest.mark.parametrize("_", range(20))
def test_every_id_has_a_host_and_every_host_its_id(_):
    agent_id = ids.agent_id()

    assert agent_of(web_host(agent_id)) == agent_id


def test_the_origin_is_where_browsers_go(settings):
    settings.ROOST_AGENTS_SCHEME, settings.ROOST_AGENTS_DOMAIN = "https", "agents.example"

    assert web_origin("agt_abc") == "https://agt-abc.agents.example"


@pytest.mark.parametrize("host", ["agt-abc.localhost:1", "AGT-ABC.LOCALHOST", "agt-abc.localhost"])
def test_capitals_and_ports_do_not_matter(host):
    assert agent_of(host) == "agt_abc"


@pytest.mark.parametrize(
    ("host", "below"),
    [("", False), ("localhost:8702", False), ("agt-abc.localhost.evil", False),
     ("agt-abc.evillocalhost", False), ("127.0.0.1", False), ("x.localhost", True),
     ("agt-a-b.localhost", True), ("agt-.localhost", True), ("agt-abc.agt-abc.localhost", True),
     ("agt_abc.localhost", True), ("agt-é.localhost", True)],
)  # fmt: skip
def test_other_hosts_are_nobodys(host, below):
    assert agent_of(host) is None
    assert is_agents_host(host) is below
