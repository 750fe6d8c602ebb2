"""Secrets on the page of keys: typed or uploaded, byte for byte, and never sent back."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from controlplane.agents.actions import create_agent
from controlplane.agents.models import Agent
from controlplane.keys.actions import add_secret
from controlplane.keys.delivery import read_secret
from controlplane.keys.models import Secret
from controlplane.keys.vault.memory import MemoryVault
from controlplane.tenants.access import Access

ADD = {"name": "GRAFANA_TOKEN", "kind": "env", "value": " glsa_any value "}


@pytest.fixture
def secret(as_alice: Access) -> Secret:
    return add_secret(as_alice, name="GRAFANA_TOKEN", value="glsa-value")


def file(data: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile("key.pem", data)


def test_an_added_secret_is_listed_by_its_name(alice_web: Client, vault: MemoryVault) -> None:
    assert alice_web.post("/acme/secrets/add", ADD)["Location"] == "/acme/keys"

    page = alice_web.get("/acme/keys").content.decode()
    assert "<code>GRAFANA_TOKEN</code>" in page
    assert "glsa_any" not in page
    assert read_secret(vault, Secret.objects.get()) == b" glsa_any value "


def test_ends_of_lines_are_those_that_were_typed(alice_web: Client, vault: MemoryVault) -> None:
    alice_web.post("/acme/secrets/add", ADD | {"value": "one\r\ntwo\r\n"})

    assert read_secret(vault, Secret.objects.get()) == b"one\ntwo\n"


@pytest.mark.parametrize("data", [b"one\r\ntwo\0\xff", b"x" * 32_768])
def test_a_file_is_taken_byte_for_byte(alice_web: Client, vault: MemoryVault, data: bytes) -> None:
    alice_web.post("/acme/secrets/add", ADD | {"kind": "file", "value": "", "upload": file(data)})

    assert read_secret(vault, Secret.objects.get()) == data


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"value": ""}, "Type the value here"),
        ({"value": "x" * 32_769}, "at most 32 KiB"),
        ({"kind": "file", "value": "", "upload": file(b"x" * 32_769)}, "at most 32 KiB"),
        ({"kind": "file", "value": "", "upload": file(b"")}, "at least one byte"),
        ({"kind": "file", "value": "", "upload": file(b"x" * 2_000_000)}, "at most 32 KiB"),
        ({"kind": "file", "upload": file(b"x")}, "Give the value once"),
        ({"name": "PATH"}, "means something to the system"),
        ({"name": "lower"}, "named like an environment variable"),
        ({"name": "OPENAI_API_KEY"}, "Add the value as a key instead"),
    ],
)
def test_what_cannot_be_is_told_and_the_value_not_sent_back(
    alice_web: Client, vault: MemoryVault, changes: dict[str, object], says: str
) -> None:
    response = alice_web.post("/acme/secrets/add", ADD | changes)

    assert response.status_code == 422
    assert says in response.content.decode()
    assert "glsa_any" not in response.content.decode()
    assert vault.values == {}


def test_the_form_takes_files(alice_web: Client) -> None:
    part = alice_web.get("/acme/secrets/add", headers={"HX-Request": "true"}).content.decode()

    assert 'enctype="multipart/form-data"' in part
    assert 'hx-encoding="multipart/form-data"' in part


def test_rotating_restarts_and_shows_its_agents(
    alice_web: Client, as_alice: Access, secret: Secret, vault: MemoryVault
) -> None:
    create_agent(as_alice, name="scout", runtime="hermes", secrets=[secret.pk])

    went = alice_web.post(f"/acme/secrets/{secret.pk}/rotate", {"value": "new", "apply": "now"})

    page = alice_web.get(went["Location"]).content.decode()
    assert f'hx-get="/acme/secrets/{secret.pk}/rotation"' in page
    secret.refresh_from_db()
    assert read_secret(vault, secret) == b"new"
    assert Agent.objects.get().restart_serial == 1


def test_revoking_wants_the_name_where_it_stops_agents(
    alice_web: Client, as_alice: Access, secret: Secret, vault: MemoryVault
) -> None:
    create_agent(as_alice, name="scout", runtime="hermes", secrets=[secret.pk])
    path = f"/acme/secrets/{secret.pk}/revoke"

    assert alice_web.post(path, {}).status_code == 422
    alice_web.post(path, {"confirm": "GRAFANA_TOKEN"})

    assert vault.values == {}
    assert Agent.objects.get().goal == "stopped"


def test_another_organisations_secret_is_not_there(
    charlie_web: Client, secret: Secret, vault: MemoryVault
) -> None:
    for verb in ("rotate", "revoke"):
        for org in ("acme", "umbrella"):
            path = f"/{org}/secrets/{secret.pk}/{verb}"
            assert charlie_web.post(path, {"value": "mine"}).status_code == 404

    assert read_secret(vault, secret) == b"glsa-value"


def test_a_viewer_sees_and_changes_nothing(bob_web: Client, secret: Secret) -> None:
    assert bob_web.post(f"/acme/secrets/{secret.pk}/revoke").status_code == 403

    page = bob_web.get("/acme/keys").content.decode()
    assert "GRAFANA_TOKEN" in page
    assert "Add a secret" not in page
