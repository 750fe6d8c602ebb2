"""Changing an agent and deleting it."""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils.timezone import now

from controlplane.agents.actions import create_agent, update_agent
from controlplane.agents.lifecycle import Goal
from controlplane.agents.models import Agent, Release
from controlplane.keys.actions import add_secret
from controlplane.keys.models import Key, Secret
from controlplane.tenants.access import Access
from provisioner.models import Node

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
    assert "As it is" in page
    assert 'name="size" value=""' in page
    assert agent.release is not None
    assert (agent.name, agent.release.cpu_millis) == ("egret", 123)


def test_what_it_may_is_shown_as_it_is(alice_web: Client, as_alice: Access, node: Node) -> None:
    secret = add_secret(as_alice, name="GRAFANA_TOKEN", value="glsa-value")
    create_agent(
        as_alice,
        name="heron",
        runtime="openclaw",
        egress="list",
        egress_hosts=["api.github.com", "*.example.com"],
        background=True,
        secrets=[secret.pk],
    )

    page = alice_web.get(ADDRESS).content.decode()

    assert "*.example.com\napi.github.com</textarea>" in page
    assert re.search(r'name="background"[^>]* checked', page)
    assert re.search(rf'value="{secret.pk}"[^>]* checked', page)
    assert re.search(r'name="egress" value="list"[^>]* checked', page)


def test_saving_what_is_shown_changes_nothing(
    alice_web: Client, agent: Agent, as_alice: Access
) -> None:
    update_agent(as_alice, agent, egress="list", egress_hosts=["api.github.com"])
    agent.refresh_from_db()
    same = {"egress": "list", "egress_hosts": "api.github.com"}

    alice_web.post(ADDRESS, wish(agent, **same))

    agent.refresh_from_db()
    assert agent.release is not None
    assert agent.release.number == 2


def test_secrets_are_given_and_taken(alice_web: Client, agent: Agent, as_alice: Access) -> None:
    secret = add_secret(as_alice, name="GRAFANA_TOKEN", value="glsa-value")

    for chosen in ([secret.pk], []):
        agent.refresh_from_db()
        alice_web.post(ADDRESS, {**wish(agent), "secrets": chosen})
        agent.refresh_from_db()
        assert agent.release is not None
        assert [one.pk for one in agent.release.secrets.all()] == chosen


def test_a_revoked_secret_is_named_and_left_out(
    alice_web: Client, agent: Agent, as_alice: Access
) -> None:
    secret = add_secret(as_alice, name="GRAFANA_TOKEN", value="glsa-value")
    update_agent(as_alice, agent, secrets=[secret.pk])
    Secret.objects.update(revoked_at=now())
    agent.refresh_from_db()

    page = alice_web.get(ADDRESS).content.decode()
    alice_web.post(ADDRESS, wish(agent))

    agent.refresh_from_db()
    assert "It had GRAFANA_TOKEN, revoked since." in page
    assert agent.release is not None
    assert not agent.release.secrets.exists()


def test_an_isolation_its_node_lost_is_still_shown(
    alice_web: Client, agent: Agent, as_alice: Access
) -> None:
    update_agent(as_alice, agent, isolation="gvisor")

    page = alice_web.get(ADDRESS).content.decode()

    assert "Its node does not offer it now." in page
    assert re.search(r'name="isolation" value="gvisor"[^>]* checked', page)


def test_models_a_key_knows_are_offered(alice_web: Client, agent: Agent, key: Key) -> None:
    Key.objects.update(models=["claude-of-tomorrow"])
    model = {"provider": "anthropic", "model": "claude-of-tomorrow", "key": key.pk}

    page = alice_web.get(ADDRESS).content.decode()
    alice_web.post(ADDRESS, wish(agent, **model))

    agent.refresh_from_db()
    assert f'<option value="claude-of-tomorrow" data-when="provider=anthropic key={key.pk}' in page
    assert agent.release is not None
    assert agent.release.model == "claude-of-tomorrow"


def test_closed_stays_a_choice_for_a_key_of_the_stand_in(
    alice_web: Client, agent: Agent, as_alice: Access, settings: Any
) -> None:
    mine = {"name": "mine", "provider": "custom", "base_url": settings.ROOST_STANDIN_URL}
    Key.objects.create(organisation=as_alice.organisation, **mine)

    assert 'data-when="provider=none|custom"' in alice_web.get(ADDRESS).content.decode()
