"""The page that makes an agent."""

import html
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client

from controlplane.agents.models import Agent
from controlplane.keys.actions import add_secret
from controlplane.keys.models import Key
from controlplane.keys.vault.memory import MemoryVault
from controlplane.tenants.access import Access
from controlplane.tenants.models import Organisation
from frontend.forms.spec import SpecForm
from provisioner.models import Node
from runtimes.catalog import CATALOG

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
        if tag in {"input", "select", "textarea"} and (name := values.get("name")):
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


def test_a_name_and_a_runtime_are_enough(alice_web: Client) -> None:
    few = {"runtime": "openclaw", "name": "heron", "provider": "none", "disk_gib": "5"}

    assert send(alice_web, few | {"egress": "none"}).status_code == 303

    release = Agent.objects.get().release
    assert (release.memory_mb, release.isolation, release.background) == (2048, "default", False)


def test_a_size_too_small_says_why(alice_web: Client) -> None:
    response = send(alice_web, WISH | {"runtime": "openclaw"})

    assert response.status_code == 422
    assert "OpenClaw needs 2048 MB, small has 512 MB: " in response.content.decode()
    assert not Agent.objects.exists()


def test_listed_hosts_are_typed_one_a_line(alice_web: Client) -> None:
    hosts = "api.github.com\r\n\r\n *.Example.com, db.example.com:5432\r\n"

    send(alice_web, WISH | {"egress": "list", "egress_hosts": hosts})

    release = Agent.objects.get().release
    assert release.egress_hosts == ["*.example.com", "api.github.com", "db.example.com:5432"]


def test_a_host_that_cannot_be_listed_is_told_at_its_field(alice_web: Client) -> None:
    response = send(alice_web, WISH | {"egress": "list", "egress_hosts": "10.0.0.1"})

    fields = Fields(response.content.decode())
    assert response.status_code == 422
    assert fields.found["egress_hosts"]["aria-invalid"] == "true"
    assert "a number cannot be listed" in response.content.decode()


def test_secrets_are_chosen_by_name_and_kind(alice_web: Client, as_alice: Access) -> None:
    secret = add_secret(as_alice, name="GRAFANA_TOKEN", value="glsa-value")
    page = alice_web.get("/acme/agents/new").content.decode()

    send(alice_web, WISH | {"secrets": [secret.pk]})

    assert re.search(r"<code>GRAFANA_TOKEN</code> <span[^>]*>Variable<", page)
    assert [one.pk for one in Agent.objects.get().release.secrets.all()] == [secret.pk]


def test_a_secret_is_offered_to_the_runtimes_it_fits(
    as_alice: Access,
) -> None:
    secret = add_secret(as_alice, name="GRAFANA_TOKEN", value="glsa-value")
    other = replace(CATALOG["hermes"], slug="other", reserved_env=("GRAFANA_*",))
    form = SpecForm(as_alice, [CATALOG["hermes"], other], "node", initial={"isolation": "default"})

    assert [(card.value, card.when) for card in form.secret_cards] == [
        (secret.pk, "runtime=hermes")
    ]


def test_a_secret_of_others_is_refused(alice_web: Client, as_charlie: Access) -> None:
    theirs = add_secret(as_charlie, name="GRAFANA_TOKEN", value="glsa-value")

    assert send(alice_web, WISH | {"secrets": [theirs.pk]}).status_code == 422
    assert not Agent.objects.exists()


def test_work_unasked_is_off_until_it_is_chosen(alice_web: Client) -> None:
    page = alice_web.get("/acme/agents/new").content.decode()

    send(alice_web, WISH | {"runtime": "openclaw", "size": "medium", "background": "on"})

    assert CATALOG["openclaw"].background in html.unescape(page)
    assert "checked" not in Fields(page).found["background"]
    assert Agent.objects.get().release.background


def test_work_unasked_of_a_runtime_that_does_none_is_refused(alice_web: Client) -> None:
    response = send(alice_web, WISH | {"background": "on"})

    assert response.status_code == 422
    assert "Hermes does nothing unasked" in response.content.decode()


def test_gvisor_is_a_choice_where_the_node_offers_it(alice_web: Client, node: Node) -> None:
    Node.objects.update(isolations=["default", "gvisor"])

    assert 'name="isolation" value="gvisor"' in alice_web.get("/acme/agents/new").content.decode()
    assert send(alice_web, WISH | {"isolation": "gvisor"}).status_code == 303
    assert Agent.objects.get().release.isolation == "gvisor"


def test_without_gvisor_the_page_says_so(alice_web: Client) -> None:
    page = alice_web.get("/acme/agents/new").content.decode()

    assert "is not installed here" in page
    assert 'name="isolation"' not in page
    assert send(alice_web, WISH | {"isolation": "gvisor"}).status_code == 422


def test_a_fold_with_a_refusal_in_it_is_open(alice_web: Client) -> None:
    page = send(alice_web, WISH | {"background": "on"}).content.decode()

    assert re.search(r'<details[^>]* id="id_background"[^>]* open>', page)
    assert 'href="#id_background"' in page


def test_a_model_the_key_may_not_use_is_told_where_it_was_typed(
    alice_web: Client, key: Key
) -> None:
    Key.objects.update(models=["claude-sonnet-5"])
    typed = {"provider": "anthropic", "model": "other", "model_other": "gpt-5", "key": key.pk}

    page = send(alice_web, WISH | typed).content.decode()

    assert Fields(page).found["model_other"]["aria-invalid"] == "true"
    assert "does not offer" in page


def test_the_stand_in_is_offered_to_the_runtimes_that_can_use_it(as_alice: Access) -> None:
    runtime = CATALOG["hermes"]
    closed = {slug: one for slug, one in runtime.providers.items() if slug != "custom"}
    other = replace(runtime, slug="other", providers=closed)

    form = SpecForm(as_alice, [runtime, other], "node", initial={"isolation": "default"})

    assert 'value="none" data-when="runtime=hermes"' in str(form["provider"])
