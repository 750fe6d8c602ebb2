"""Bringing back what was deleted, from the list of agents."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils.timezone import now

from controlplane.agents.actions import create_agent, delete_agent
from controlplane.agents.lifecycle import Goal
from controlplane.agents.models import Agent
from controlplane.tenants.access import Access


@pytest.fixture
def gone(agent: Agent, as_alice: Access) -> Agent:
    return delete_agent(as_alice, agent)


def address(agent: Agent) -> str:
    return f"/acme/deleted/{agent.pk}/restore"


def test_a_deleted_agent_is_brought_back_stopped(alice_web: Client, gone: Agent) -> None:
    page = alice_web.get("/acme/agents").content.decode()

    response = alice_web.post(address(gone))

    gone.refresh_from_db()
    assert address(gone) in page
    assert response["Location"] == "/acme/agents/heron"
    assert gone.goal == Goal.STOPPED


def test_past_its_time_it_is_neither_shown_nor_brought_back(alice_web: Client, gone: Agent) -> None:
    Agent.objects.update(status="deleted", purge_at=now() - timedelta(seconds=1))

    alice_web.post(address(gone))

    gone.refresh_from_db()
    assert gone.goal == Goal.DELETED
    assert "The grace period of heron is over" in alice_web.get("/acme/agents").content.decode()
    assert address(gone) not in alice_web.get("/acme/agents").content.decode()


def test_a_name_that_was_taken_meanwhile_is_told(
    alice_web: Client, gone: Agent, as_alice: Access
) -> None:
    create_agent(as_alice, name="heron", runtime="hermes")

    response = alice_web.post(address(gone))

    assert response["Location"] == "/acme/agents"
    assert (
        "You already have an agent called heron" in alice_web.get("/acme/agents").content.decode()
    )


def test_bringing_back_is_no_link(alice_web: Client, gone: Agent) -> None:
    assert alice_web.get(address(gone)).status_code == 405


@pytest.mark.parametrize(("who", "status"), [("bob_web", 403), ("charlie_web", 404)])
def test_nobody_else_brings_it_back(
    request: pytest.FixtureRequest, gone: Agent, who: str, status: int
) -> None:
    client: Client = request.getfixturevalue(who)

    assert client.post(address(gone)).status_code == status
    gone.refresh_from_db()
    assert gone.goal == Goal.DELETED


def test_a_viewer_is_not_shown_what_was_deleted(bob_web: Client, gone: Agent) -> None:
    assert "Bring back" not in bob_web.get("/acme/agents").content.decode()
