"""A node that does not report: its agents' pages say how old they are, and what waits."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from controlplane.agents.actions import create_agent
from controlplane.agents.models import Agent
from controlplane.tenants.access import Access
from frontend.listing import Wish
from frontend.silence import Silence, silences_of
from frontend.views.agents import ListParts
from frontend.views.overview import AgentParts
from provisioner.models import Node

BANNER = "Your agents go on running without it."
QUEUED = "ts node has not reported since <time"  # Its …, or: Queued: its …
TABS = ["", "/chat", "/logs", "/settings"]
PAGES = ["/acme/agents", *(f"/acme/agents/heron{tab}" for tab in TABS)]


def fall_silent(**ago: float) -> None:
    Node.objects.update(heartbeat_at=now() - timedelta(**ago))


@pytest.mark.parametrize("address", PAGES)
def test_pages_tell_of_a_silent_node(alice_web: Client, agent: Agent, address: str) -> None:
    fresh = alice_web.get(address).content.decode()
    fall_silent(minutes=3, seconds=5)

    page = alice_web.get(address).content.decode()

    assert BANNER not in fresh
    assert page.count(BANNER) == 1
    assert "Statuses are up to 4 minutes old." in page


@pytest.mark.parametrize("address", PAGES[:2])
def test_what_is_queued_says_what_it_waits_for(
    alice_web: Client, agent: Agent, address: str
) -> None:
    fresh = alice_web.get(address).content.decode()
    fall_silent(minutes=2)
    silent = alice_web.get(address).content.decode()
    Node.objects.all().delete()
    never = alice_web.get(address).content.decode()

    assert QUEUED not in fresh
    assert QUEUED in silent
    assert "What is happening" not in silent
    assert "ts node has never reported" in never
    assert "Nothing starts yet." in never


def test_what_runs_is_shown_as_it_was_seen(alice_web: Client, agent: Agent) -> None:
    Agent.objects.update(status="running", observed_generation=1, observed_release=1)
    fall_silent(minutes=2)

    assert QUEUED not in alice_web.get("/acme/agents").content.decode()
    assert "Running, and answering" in alice_web.get("/acme/agents/heron").content.decode()


def test_a_filtered_list_brings_the_banner(alice_web: Client, agent: Agent) -> None:
    fall_silent(minutes=2)
    headers = {"HX-Request": "true", "HX-Target": "agents"}

    part = alice_web.get("/acme/agents?q=heron", headers=headers).content.decode()

    assert '<div id="silence" hx-swap-oob="innerHTML"><div class="banner' in part


def test_a_live_list_hears_of_it_and_of_its_end(as_alice: Access, agent: Agent) -> None:
    parts = ListParts(as_alice, Wish())
    before = parts.look()
    fall_silent(minutes=2)
    silent = parts.look()
    changed = {name for name, value in silent.items() if before[name] != value}
    drawn = parts.draw(changed)
    fall_silent(seconds=0)

    assert changed == {"silence", f"agent:{agent.pk}"}
    assert BANNER in drawn["silence"]
    assert QUEUED in drawn[f"agent:{agent.pk}"]
    assert parts.look() == before
    assert parts.draw({"silence"})["silence"].strip() == ""


def test_a_live_agent_hears_of_it(as_alice: Access, agent: Agent, rf: RequestFactory) -> None:
    request = rf.get("/")
    request.user = as_alice.user
    parts = AgentParts(request, as_alice, agent.pk)
    before = parts.look()
    fall_silent(minutes=2)
    silent = parts.look()
    changed = {name for name, value in silent.items() if before[name] != value}

    drawn = parts.draw(changed)

    assert changed == {"silence", "verdict", "progress"}
    assert BANNER in drawn["silence"]
    assert QUEUED in drawn["verdict"]


def test_many_nodes_are_one_query(as_alice: Access, agent: Agent) -> None:
    other = create_agent(as_alice, name="egret", runtime="hermes")
    other.node = "another"

    with CaptureQueriesContext(connection) as found:
        silences = silences_of([agent, other])

    assert silences == [Silence("another", None)]
    assert len(found) == 1


@pytest.mark.parametrize(
    ("ago", "age"),
    [
        ({"seconds": 31}, "1 minute"),
        ({"seconds": 61}, "2 minutes"),
        ({"minutes": 59.5}, "60 minutes"),
        ({"hours": 1.5}, "2 hours"),
        ({"days": 3.5}, "4 days"),
    ],
)
def test_an_age_is_rounded_up(ago: dict[str, float], age: str) -> None:
    assert Silence("node-1", now() - timedelta(**ago)).age == age
