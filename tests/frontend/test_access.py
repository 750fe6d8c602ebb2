"""Who sees what: a member every page, a stranger none, a viewer no change."""

import pytest
from django.test import Client

from controlplane.agents.lifecycle import Goal
from controlplane.agents.models import Agent
from controlplane.keys.models import Key
from controlplane.tenants.models import User

READ = [
    "/acme/agents",
    "/acme/agents/heron",
    "/acme/agents/heron/chat",
    "/acme/agents/heron/logs",
    "/acme/agents/heron/snapshots",
    "/acme/agents/heron/exports",
    "/acme/agents/heron/checkpoints",
    "/acme/agents/heron/credentials",
    "/acme/agents/heron/releases",
    "/acme/keys",
]
STREAMS = [
    "/acme/live/agents",
    "/acme/live/agents/x",
    "/acme/agents/heron/logs/follow",
    "/acme/agents/heron/logs/download",
]
WRITE = [
    "/acme/agents/new",
    "/acme/agents/heron/settings",
    "/acme/agents/heron/snapshots/take",
    "/acme/agents/heron/snapshots/plan",
    "/acme/agents/heron/releases/1/back",
    "/acme/agents/heron/exports/new",
    "/acme/keys/add",
]
CHANGES = [
    "/acme/agents/new",
    "/acme/agents/heron/start",
    "/acme/agents/heron/stop",
    "/acme/agents/heron/restart",
    "/acme/agents/heron/resize",
    "/acme/agents/heron/settings",
    "/acme/agents/heron/delete",
    "/acme/agents/heron/chat",
    "/acme/agents/heron/credentials",
    "/acme/agents/heron/snapshots/take",
    "/acme/agents/heron/snapshots/plan",
    "/acme/agents/heron/releases/upgrade",
    "/acme/agents/heron/releases/1/back",
    "/acme/agents/heron/exports/new",
    "/acme/keys/add",
]


@pytest.mark.parametrize("address", [*READ, *WRITE])
def test_an_owner_sees_every_page(alice_web: Client, agent: Agent, address: str) -> None:
    assert alice_web.get(address).status_code == 200


@pytest.mark.parametrize("address", READ)
def test_a_viewer_reads(bob_web: Client, agent: Agent, address: str) -> None:
    assert bob_web.get(address).status_code == 200


@pytest.mark.parametrize("address", [*READ, *WRITE, *STREAMS])
def test_a_stranger_finds_nothing(charlie_web: Client, agent: Agent, address: str) -> None:
    response = charlie_web.get(address)

    assert response.status_code == 404
    assert b"heron" not in response.content
    assert b"Acme" not in response.content


@pytest.mark.parametrize("address", CHANGES)
def test_a_strangers_post_finds_nothing(charlie_web: Client, agent: Agent, address: str) -> None:
    response = charlie_web.post(address, {"confirm": "heron", "text": "hello"})

    assert response.status_code == 404
    agent.refresh_from_db()
    assert (agent.goal, agent.generation) == (Goal.RUNNING, 1)


@pytest.mark.parametrize("address", CHANGES)
def test_a_viewers_post_is_refused_in_words(bob_web: Client, agent: Agent, address: str) -> None:
    response = bob_web.post(address, {"confirm": "heron", "text": "hello"})

    assert response.status_code == 403
    assert "Your role, viewer, does not cover this" in response.content.decode()
    agent.refresh_from_db()
    assert (agent.goal, agent.generation) == (Goal.RUNNING, 1)
    assert not Key.objects.exists()


def test_a_viewers_htmx_post_is_a_toast(bob_web: Client, agent: Agent) -> None:
    response = bob_web.post("/acme/agents/heron/stop", headers={"HX-Request": "true"})

    assert response.status_code == 403
    assert 'hx-swap-oob="beforeend:.toasts"' in response.content.decode()
    assert response["HX-Reswap"] == "none"


def test_a_viewer_is_offered_no_change(bob_web: Client, agent: Agent) -> None:
    pages = [bob_web.get(address).content.decode() for address in READ]

    assert not any('method="post" action="/acme' in page for page in pages)
    assert not any("/agents/new" in page or "/keys/add" in page for page in pages)


def test_nobody_is_sent_to_sign_in_and_back(client: Client, agent: Agent) -> None:
    response = client.get("/acme/agents/heron?before=7")

    assert response.status_code == 302
    assert response["Location"] == "/accounts/login/?next=/acme/agents/heron%3Fbefore%3D7"


def test_a_part_for_nobody_moves_the_whole_page_to_sign_in(client: Client, agent: Agent) -> None:
    response = client.get("/acme/agents", headers={"HX-Request": "true"})

    assert response.status_code == 204
    assert response["HX-Redirect"].startswith("/accounts/login/")


def test_home_leads_to_the_first_organisation(alice_web: Client) -> None:
    assert alice_web.get("/")["Location"] == "/acme/agents"


def test_without_an_organisation_home_says_who_can_help(charlie: User, client: Client) -> None:
    client.force_login(charlie, "django.contrib.auth.backends.ModelBackend")

    assert "You are in no organisation yet" in client.get("/").content.decode()
