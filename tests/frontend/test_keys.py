"""The page of keys."""

import pytest
from django.test import Client

from controlplane.agents.actions import create_agent, stop_agent
from controlplane.agents.models import Agent
from controlplane.keys.models import Key
from controlplane.keys.vault.memory import MemoryVault
from controlplane.tenants.access import Access

VALUE = "sk-ant-" + "another-value-" * 3
ADD = {"provider": "anthropic", "name": "production", "value": VALUE}
HTMX = {"HX-Request": "true"}


def test_an_added_key_is_listed_by_its_hint(alice_web: Client, vault: MemoryVault) -> None:
    assert alice_web.post("/acme/keys/add", ADD)["Location"] == "/acme/keys"

    page = alice_web.get("/acme/keys").content.decode()
    assert "production" in page
    assert f"<code>{VALUE[-4:]}</code>" in page
    assert VALUE not in page
    assert vault.read(Key.objects.get().vault_path) == {"value": VALUE}


def test_a_key_in_place_of_the_name_is_refused(alice_web: Client, vault: MemoryVault) -> None:
    response = alice_web.post("/acme/keys/add", ADD | {"name": VALUE})

    assert response.status_code == 422
    assert "This looks like the key itself" in response.content.decode()
    assert 'aria-invalid="true"' in response.content.decode()
    assert not Key.objects.exists()
    assert vault.values == {}


def test_a_value_is_never_sent_back(alice_web: Client) -> None:
    response = alice_web.post("/acme/keys/add", ADD | {"name": ""})

    assert response.status_code == 422
    assert VALUE not in response.content.decode()


def test_a_taken_name_is_told_at_its_field(alice_web: Client) -> None:
    alice_web.post("/acme/keys/add", ADD)

    response = alice_web.post("/acme/keys/add", ADD, headers=HTMX)

    assert response.status_code == 422
    assert "You already have a key called production" in response.content.decode()
    assert "<html" not in response.content.decode()


def test_a_question_is_a_dialog_for_htmx_and_a_page_without(alice_web: Client) -> None:
    part = alice_web.get("/acme/keys/add", headers=HTMX).content.decode()
    page = alice_web.get("/acme/keys/add").content.decode()

    assert part.startswith("<dialog")
    assert "<html" in page
    assert "<dialog" not in page


def test_a_sealed_vault_stores_nothing_and_says_so(alice_web: Client, vault: MemoryVault) -> None:
    vault.sealed = True

    response = alice_web.post("/acme/keys/add", ADD)

    assert response.status_code == 503
    assert "it is sealed" in response.content.decode()
    assert not Key.objects.exists()


def test_rotate_makes_a_version(alice_web: Client, key: Key, vault: MemoryVault) -> None:
    alice_web.post(f"/acme/keys/{key.pk}/rotate", {"value": VALUE})

    key.refresh_from_db()
    assert key.version == 2
    assert vault.read(key.vault_path) == {"value": VALUE}


def test_revoke_removes_the_value(alice_web: Client, key: Key, vault: MemoryVault) -> None:
    alice_web.post(f"/acme/keys/{key.pk}/revoke")

    key.refresh_from_db()
    assert key.revoked_at is not None
    assert vault.values == {}
    assert (
        "anthropic-test"
        not in alice_web.get("/acme/keys?fresh")
        .content.decode()
        .split("<main")[1]
        .split("toasts")[0]
    )


def test_another_organisations_key_is_not_there(
    charlie_web: Client, key: Key, vault: MemoryVault
) -> None:
    for verb in ("rotate", "revoke"):
        for org in ("acme", "umbrella"):
            response = charlie_web.post(f"/{org}/keys/{key.pk}/{verb}", {"value": VALUE})
            assert response.status_code == 404

    key.refresh_from_db()
    assert (key.version, key.revoked_at) == (1, None)


def test_a_viewer_changes_no_key(bob_web: Client, key: Key) -> None:
    assert bob_web.post(f"/acme/keys/{key.pk}/revoke").status_code == 403

    key.refresh_from_db()
    assert key.revoked_at is None
    assert "anthropic-test" in bob_web.get("/acme/keys").content.decode()


@pytest.fixture
def user(as_alice: Access, key: Key) -> Agent:
    """An agent that runs with the key."""
    return create_agent(as_alice, name="scout", runtime="hermes", key=key.pk)


def test_who_uses_a_key_is_named_with_a_way_there(alice_web: Client, user: Agent) -> None:
    page = alice_web.get("/acme/keys").content.decode()

    assert '<a href="/acme/agents/scout">scout</a>' in page


def test_of_many_users_some_are_named_and_the_others_counted(
    alice_web: Client, as_alice: Access, key: Key
) -> None:
    for number in range(5):
        create_agent(as_alice, name=f"scout-{number}", runtime="hermes", key=key.pk)

    assert "<summary>2 more</summary>" in alice_web.get("/acme/keys").content.decode()


def test_a_key_that_was_not_checked_says_why(alice_web: Client) -> None:
    alice_web.post("/acme/keys/add", ADD)

    page = alice_web.get("/acme/keys").content.decode()
    assert "not checked" in page
    assert "Anthropic could not be asked, because" in page


def test_a_checked_key_says_what_it_may_use(alice_web: Client, key: Key) -> None:
    Key.objects.update(checked_at=key.created_at, models=["a", "b"])

    page = alice_web.get("/acme/keys").content.decode()
    assert "works" in page
    assert "may use 2 models" in page


def test_rotating_leads_to_the_result_of_each_agent(
    alice_web: Client, user: Agent, key: Key
) -> None:
    went = alice_web.post(f"/acme/keys/{key.pk}/rotate", {"value": VALUE, "apply": "now"})

    assert went["Location"] == f"/acme/keys?rotated={key.pk}"
    page = alice_web.get(went["Location"]).content.decode()
    assert "is being rotated to version 2" in page
    assert "live in none of its one agent" in page
    assert f'hx-get="/acme/keys/{key.pk}/rotation"' in page


def test_the_panel_stops_asking_once_all_is_settled(
    alice_web: Client, user: Agent, key: Key
) -> None:
    Key.objects.update(version=2)
    Agent.objects.update(status="running", observed_generation=1, key_versions={key.pk: 2})

    panel = alice_web.get(f"/acme/keys/{key.pk}/rotation", headers=HTMX).content.decode()

    assert "was rotated to version 2" in panel
    assert "The new value is live in its one agent." in panel
    assert "hx-get" not in panel


def test_a_rotation_can_wait_for_the_next_start(alice_web: Client, user: Agent, key: Key) -> None:
    alice_web.post(f"/acme/keys/{key.pk}/rotate", {"value": VALUE, "apply": "next_start"})

    assert Agent.objects.get().restart_serial == 0


def test_nobody_is_asked_when_no_agent_runs_with_it(alice_web: Client, key: Key) -> None:
    assert 'name="apply"' not in alice_web.get(f"/acme/keys/{key.pk}/rotate").content.decode()


def test_revoking_names_the_agents_it_stops_first(
    alice_web: Client, as_alice: Access, user: Agent, key: Key
) -> None:
    idle = create_agent(as_alice, name="idle", runtime="hermes", key=key.pk)
    stop_agent(as_alice, idle)

    page = alice_web.get(f"/acme/keys/{key.pk}/revoke").content.decode()

    assert "It stops scout, which runs with it" in page
    assert 'data-confirm="anthropic-test"' in page


@pytest.mark.parametrize("typed", ["", "anthropic", "Anthropic-test"])
def test_what_stops_agents_wants_the_name_typed(
    alice_web: Client, user: Agent, key: Key, vault: MemoryVault, typed: str
) -> None:
    response = alice_web.post(f"/acme/keys/{key.pk}/revoke", {"confirm": typed})

    assert response.status_code == 422
    key.refresh_from_db()
    assert key.revoked_at is None
    assert vault.values


def test_revoking_stops_them_and_says_so(alice_web: Client, user: Agent, key: Key) -> None:
    page = alice_web.post(
        f"/acme/keys/{key.pk}/revoke", {"confirm": "anthropic-test"}, follow=True
    ).content.decode()

    assert "Stopped: scout." in page
    assert Agent.objects.get().goal == "stopped"


def test_a_revoked_key_has_no_panel(alice_web: Client, user: Agent, key: Key) -> None:
    alice_web.post(f"/acme/keys/{key.pk}/revoke", {"confirm": "anthropic-test"})

    assert 'id="rotation"' not in alice_web.get(f"/acme/keys?rotated={key.pk}").content.decode()
