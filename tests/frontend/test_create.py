"""The page that makes an agent."""

from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client

from controlplane.agents.models import Agent
from controlplane.keys.models import Key
from controlplane.keys.vault.memory import MemoryVault
from controlplane.tenants.models import Organisation

WISH = {
    "runtime": "hermes",
    "name": "heron",
    "provider": "none",
    "size": "small",
    "disk_gib": "5",
    "egress": "open",
}
NEW_KEY = {
    **WISH,
    "provider": "anthropic",
    "model": "other",
    "model_other": "claude-x",
    "key": "new",
    "key_name": "typed",
    "key_value": "sk-ant-" + "typed-here-" * 4,
}


class Fields(HTMLParser):
    """The attributes of every control, by name, and what is chosen in each select."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: dict[str, dict[str, str | None]] = {}
        self.ids: set[str | None] = set()
        self.chosen: dict[str, str | None] = {}
        self.select = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids.add(values.get("id"))
        if tag == "select":
            self.select = values["name"] or ""
        if tag == "option" and "selected" in values:
            self.chosen[self.select] = values.get("value")
        if tag in {"input", "select"} and (name := values.get("name")):
            self.found[name] = values


def send(client: Client, data: dict[str, Any]) -> Any:
    return client.post("/acme/agents/new", data)


def test_an_agent_is_made_and_shown(alice_web: Client) -> None:
    response = send(alice_web, WISH)

    assert (response.status_code, response["Location"]) == (303, "/acme/agents/heron")
    agent = Agent.objects.get()
    assert (agent.name, agent.release.memory_mb, agent.release.disk_gib) == ("heron", 512, 5)
    page = alice_web.get("/acme/agents/heron").content.decode()
    assert "heron is being made." in page
    assert "Queued" in page


def test_a_bad_name_is_told_at_its_field(alice_web: Client) -> None:
    response = send(alice_web, WISH | {"name": "Bad Name"})

    fields = Fields(response.content.decode())
    assert response.status_code == 422
    assert fields.found["name"]["aria-invalid"] == "true"
    assert "id_name_error" in (fields.found["name"]["aria-describedby"] or "").split()
    assert "id_name_error" in fields.ids
    assert fields.found["name"]["value"] == "Bad Name"
    assert not Agent.objects.exists()


@pytest.mark.parametrize("field", ["runtime", "name", "provider", "size", "disk_gib", "egress"])
def test_nonsense_in_a_field_makes_nothing(alice_web: Client, field: str) -> None:
    assert send(alice_web, WISH | {field: "<nonsense>"}).status_code == 422
    assert not Agent.objects.exists()


def test_an_empty_form_makes_nothing(alice_web: Client) -> None:
    assert send(alice_web, {}).status_code == 422
    assert not Agent.objects.exists()


def test_a_taken_name_is_told_at_its_field(alice_web: Client, agent: Agent) -> None:
    response = send(alice_web, WISH)

    assert response.status_code == 422
    assert "You already have an agent called heron" in response.content.decode()
    assert Fields(response.content.decode()).found["name"]["aria-invalid"] == "true"
    assert Agent.objects.count() == 1


def test_a_limit_is_told_above_the_form(alice_web: Client, acme: Organisation) -> None:
    Organisation.objects.update(agent_limit=0)

    response = send(alice_web, WISH)

    assert response.status_code == 422
    assert "may have 0 agents" in response.content.decode()


def test_a_key_typed_here_goes_to_the_vault(alice_web: Client, vault: MemoryVault) -> None:
    assert send(alice_web, NEW_KEY).status_code == 303

    key = Key.objects.get()
    release = Agent.objects.get().release
    assert vault.read(key.vault_path) == {"value": NEW_KEY["key_value"]}
    assert (release.key_id, release.model) == (key.pk, "claude-x")


def test_a_typed_key_is_never_sent_back(alice_web: Client) -> None:
    response = send(alice_web, NEW_KEY | {"name": "Bad Name"})

    assert response.status_code == 422
    assert NEW_KEY["key_value"] not in response.content.decode()


def test_a_key_stored_on_the_way_is_chosen_and_not_typed_again(
    alice_web: Client, agent: Agent
) -> None:
    response = send(alice_web, NEW_KEY)

    key = Key.objects.get()
    fields = Fields(response.content.decode())
    assert response.status_code == 422
    assert fields.chosen["key"] == key.pk


def test_a_key_in_place_of_its_name_is_refused(alice_web: Client) -> None:
    secret = "sk-ant-api03-abcdefghijklmnop"
    response = send(alice_web, NEW_KEY | {"key_name": secret})

    assert response.status_code == 422
    assert "This looks like the key itself" in response.content.decode()
    assert not Key.objects.exists()
    assert not Agent.objects.exists()


def test_a_key_of_another_provider_is_refused(alice_web: Client, key: Key) -> None:
    response = send(alice_web, WISH | {"provider": "openai", "model": "gpt-5.5", "key": key.pk})

    assert "is a key for Anthropic" in response.content.decode()
    assert not Agent.objects.exists()


def test_without_a_stand_in_a_key_is_needed(alice_web: Client, settings: Any) -> None:
    settings.ROOST_STANDIN_URL = ""

    page = alice_web.get("/acme/agents/new").content.decode()

    assert "stand-in" not in page
    assert 'name="egress" value="none"' not in page
    assert send(alice_web, WISH).status_code == 422
