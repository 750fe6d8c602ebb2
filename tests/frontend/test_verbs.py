"""Start, stop, restart and resize from an agent's page."""

import pytest
from django.test import Client

from controlplane.agents.lifecycle import Goal
from controlplane.agents.models import Agent
from controlplane.tenants.models import Organisation

HTMX = {"HX-Request": "true", "HX-Target": "verdict"}


def test_stop_without_a_script_leads_back(alice_web: Client, agent: Agent) -> None:
    response = alice_web.post("/acme/agents/heron/stop")

    agent.refresh_from_db()
    assert (response.status_code, response["Location"]) == (303, "/acme/agents/heron")
    assert agent.goal == Goal.STOPPED


def test_stop_with_a_script_changes_the_parts(alice_web: Client, agent: Agent) -> None:
    Agent.objects.update(status="running", observed_generation=1, observed_release=1)

    part = alice_web.post("/acme/agents/heron/stop", headers=HTMX).content.decode()

    assert "<html" not in part
    assert "<h2>Stopping</h2>" in part
    assert 'id="actions"' in part
    assert 'hx-swap-oob="beforeend:.toasts"' in part


def test_restart_counts(alice_web: Client, agent: Agent) -> None:
    alice_web.post("/acme/agents/heron/restart")

    agent.refresh_from_db()
    assert agent.restart_serial == 1


def test_resize_makes_a_release_and_starts(alice_web: Client, agent: Agent) -> None:
    alice_web.post("/acme/agents/heron/stop")

    alice_web.post("/acme/agents/heron/resize", {"value": "medium"})

    agent.refresh_from_db()
    assert (agent.release.memory_mb, agent.goal) == (2048, Goal.RUNNING)


@pytest.mark.parametrize("size", ["", "huge"])
def test_resize_to_nothing_known_changes_nothing(
    alice_web: Client, agent: Agent, size: str
) -> None:
    response = alice_web.post("/acme/agents/heron/resize", {"value": size}, headers=HTMX)

    agent.refresh_from_db()
    assert response.status_code == 422
    assert "There is no size" in response.content.decode()
    assert agent.generation == 1


def test_a_paused_organisation_is_told_why(alice_web: Client, agent: Agent) -> None:
    Organisation.objects.update(paused_reason="The invoice of November is open.")

    response = alice_web.post("/acme/agents/heron/start", follow=True)

    assert "The invoice of November is open." in response.content.decode()


def test_a_resize_that_may_not_start_changes_nothing(alice_web: Client, agent: Agent) -> None:
    Organisation.objects.update(paused_reason="The invoice of November is open.")

    response = alice_web.post("/acme/agents/heron/resize", {"value": "medium"}, follow=True)

    agent.refresh_from_db()
    assert "The invoice of November is open." in response.content.decode()
    assert (agent.release.number, agent.release.memory_mb, agent.generation) == (1, 512, 1)


def test_a_verb_is_no_link(alice_web: Client, agent: Agent) -> None:
    assert alice_web.get("/acme/agents/heron/stop").status_code == 405


def test_there_are_no_other_verbs(alice_web: Client, agent: Agent) -> None:
    assert alice_web.post("/acme/agents/heron/explode").status_code == 404
