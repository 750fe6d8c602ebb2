"""Bringing a deleted agent back, over the API."""

from datetime import timedelta

import pytest
from django.utils.timezone import now
from rest_framework.test import APIClient

from controlplane.agents.actions import delete_agent
from controlplane.agents.models import Agent
from controlplane.tenants.access import Access


@pytest.fixture
def gone(agent: Agent, as_alice: Access) -> Agent:
    return delete_agent(as_alice, agent)


def agents(agent: Agent) -> str:
    return f"/api/v1/orgs/{agent.organisation_id}/agents"


def test_a_deleted_agent_comes_back_stopped(alice_api: APIClient, gone: Agent) -> None:
    answer = alice_api.post(f"{agents(gone)}/{gone.pk}/restore")

    assert (answer.status_code, answer.json()["goal"]) == (202, "stopped")
    assert alice_api.get(f"{agents(gone)}/{gone.pk}").status_code == 200


def test_what_is_not_deleted_cannot_come_back(alice_api: APIClient, agent: Agent) -> None:
    answer = alice_api.post(f"{agents(agent)}/{agent.pk}/restore")

    assert (answer.status_code, answer.json()["code"]) == (409, "agent_not_deleted")


def test_after_its_time_it_cannot_come_back(alice_api: APIClient, gone: Agent) -> None:
    Agent.objects.update(purge_at=now() - timedelta(seconds=1))

    answer = alice_api.post(f"{agents(gone)}/{gone.pk}/restore")

    assert (answer.status_code, answer.json()["code"]) == (409, "grace_over")


def test_deleted_agents_are_listed_by_their_state(alice_api: APIClient, gone: Agent) -> None:
    listed = alice_api.get(agents(gone), {"state": "deleted"}).json()["items"]

    assert [row["id"] for row in listed] == [gone.pk]
    assert alice_api.get(agents(gone)).json()["items"] == []
