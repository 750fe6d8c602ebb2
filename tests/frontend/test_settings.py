"""Changing an agent and deleting it."""

import re

import pytest
from django.test import Client

from controlplane.agents.actions import update_agent
from controlplane.agents.lifecycle import Goal
from controlplane.agents.models import Agent, Release
from controlplane.keys.models import Key
from controlplane.tenants.access import Access

ADDRESS = "/acme/agents/heron/settings"


def wish(agent: Agent, **changes: str) -> dict[str, str]:
    plain = {"name": agent.name, "provider": "none", "size": "small", "egress": "open"}
    return {**plain, "etag": agent.etag, **changes}


def test_another_size_is_another_release(alice_web: Client, agent: Agent) -> None:
    response = alice_web.post(ADDRESS, wish(agent, size="medium"))

    agent.refresh_from_db()
    assert response["Location"] == "/acme/agents/heron"
    assert (agent.release.number, agent.release.memory_mb) == (2, 2048)


def test_another_name_is_another_address(alice_web: Client, agent: Agent) -> None:
    response = alice_web.post(ADDRESS, wish(agent, name="egret"))

    assert response["Location"] == "/acme/agents/egret"
    assert alice_web.get("/acme/agents/egret").status_code == 200


def test_a_key_is_chosen_with_its_model(alice_web: Client, agent: Agent, key: Key) -> None:
    model = {"provider": "anthropic", "model": "other", "model_other": "claude-x", "key": key.pk}

    alice_web.post(ADDRESS, wish(agent, **model))

    agent.refresh_from_db()
    assert (agent.release.key_id, agent.release.model) == (key.pk, "claude-x")
    assert 'value="claude-x"' in alice_web.get(ADDRESS).content.decode()


def test_a_change_meanwhile_is_not_overwritten(
    alice_web: Client, agent: Agent, as_alice: Access
) -> None:
    stale = wish(agent, size="large")
    update_agent(as_alice, agent, name="egret")

    response = alice_web.post("/acme/agents/egret/settings", stale)

    agent.refresh_from_db()
    assert response.status_code == 422
    assert "Somebody changed this agent" in response.content.decode()
    assert (agent.name, agent.release.number) == ("egret", 1)


@pytest.mark.parametrize("typed", ["", "hero", "HERON", "heron2"])
def test_delete_needs_the_name(alice_web: Client, agent: Agent, typed: str) -> None:
    response = alice_web.post("/acme/agents/heron/delete", {"confirm": typed})

    agent.refresh_from_db()
    assert response.status_code == 422
    assert "That is not the name of this agent" in response.content.decode()
    assert agent.goal == Goal.RUNNING


def test_delete_with_the_name_deletes(alice_web: Client, agent: Agent) -> None:
    response = alice_web.post("/acme/agents/heron/delete", {"confirm": "heron"})

    agent.refresh_from_db()
    assert response["Location"] == "/acme/agents"
    assert agent.goal == Goal.DELETED
    assert "Its workspace is kept for 7 days" in alice_web.get("/acme/agents").content.decode()


def test_delete_is_no_link(alice_web: Client, agent: Agent) -> None:
    assert alice_web.get("/acme/agents/heron/delete").status_code == 405
    agent.refresh_from_db()
    assert agent.goal == Goal.RUNNING


def test_an_agent_on_the_stand_in_is_shown_as_it_is(alice_web: Client, agent: Agent) -> None:
    page = alice_web.get(ADDRESS).content.decode()

    assert re.search(r'<option value="none"[^>]*\bselected', page)


def test_a_size_that_has_no_name_any_more_is_kept(alice_web: Client, agent: Agent) -> None:
    Release.objects.filter(agent=agent).update(cpu_millis=123)

    page = alice_web.get(ADDRESS).content.decode()
    alice_web.post(ADDRESS, wish(agent, size="", name="egret"))

    agent.refresh_from_db()
    assert "As it is, 512 MB" in page
    assert agent.release is not None
    assert (agent.name, agent.release.cpu_millis) == ("egret", 123)
