"""Opening an agent's own web UI from its page: a ticket in a form, for one place."""

import re

import pytest
from django.test import Client

from controlplane.agents import tickets
from controlplane.agents.models import Agent
from runtimes.catalog import CATALOG
from tests.frontend.test_headers import POLICY, Inline

ADDRESS = "/acme/agents/heron/web"


@pytest.fixture
def running(agent: Agent) -> Agent:
    Agent.objects.update(status="running", observed_generation=1, observed_release=1)
    return agent


@pytest.fixture
def origin(running: Agent) -> str:
    return f"http://{running.pk.replace('_', '-')}.localhost:8702"


def test_a_page_sends_a_ticket_to_the_agents_host(
    alice_web: Client, running: Agent, origin: str
) -> None:
    page = alice_web.post(ADDRESS).content.decode()

    assert f'action="{origin}/.roost/enter"' in page
    found = re.search(r'name="ticket" value="([^"]+)"', page)
    assert found is not None
    assert tickets.read(found[1], running.pk, "web").user == running.created_by_id
    assert Inline(page).found == []


def test_this_page_alone_may_send_a_form_there(
    alice_web: Client, running: Agent, origin: str
) -> None:
    response = alice_web.post(ADDRESS)

    expected = POLICY.replace("form-action 'self'", f"form-action {origin}")
    assert response["Content-Security-Policy"] == expected
    assert response["Referrer-Policy"] == "strict-origin"
    assert response["Cache-Control"] == "no-store"


def test_it_is_a_button_and_no_link(alice_web: Client, running: Agent) -> None:
    page = alice_web.get("/acme/agents/heron").content.decode()

    assert f'<form method="post" action="{ADDRESS}" target="_blank" rel="noopener">' in page
    assert alice_web.get(ADDRESS).status_code == 405


def test_without_the_csrf_token_nothing_is_opened(running: Agent, alice_web: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = alice_web.cookies

    assert strict.post(ADDRESS).status_code == 403


def test_who_may_not_talk_to_it_has_no_button_and_gets_no_ticket(
    bob_web: Client, running: Agent
) -> None:
    assert "Open web UI" not in bob_web.get("/acme/agents/heron").content.decode()
    refused = bob_web.post(ADDRESS)
    assert refused.status_code == 403
    assert b"/.roost/enter" not in refused.content


def test_a_stranger_finds_nothing(charlie_web: Client, running: Agent) -> None:
    assert charlie_web.post(ADDRESS).status_code == 404


def test_who_is_not_signed_in_is_asked_to(client: Client, running: Agent) -> None:
    assert client.post(ADDRESS)["Location"].startswith("/accounts/login/")


def test_what_does_not_run_is_not_opened(alice_web: Client, agent: Agent) -> None:
    Agent.objects.update(status="stopped")

    assert "Open web UI" not in alice_web.get("/acme/agents/heron").content.decode()
    page = alice_web.post(ADDRESS, follow=True)
    assert page.redirect_chain == [("/acme/agents/heron", 303)]
    assert "heron is stopped: nobody is there to answer. Start it first." in page.content.decode()


def test_a_runtime_without_a_web_ui_has_no_button(alice_web: Client, running: Agent) -> None:
    slug = next(slug for slug, runtime in CATALOG.items() if runtime.web is None)
    Agent.objects.update(runtime=slug)

    assert "Open web UI" not in alice_web.get("/acme/agents/heron").content.decode()
    assert alice_web.post(ADDRESS).status_code == 404
