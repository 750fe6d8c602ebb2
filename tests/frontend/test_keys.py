"""The page of keys."""

from django.test import Client

from controlplane.keys.models import Key
from controlplane.keys.vault.memory import MemoryVault

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
