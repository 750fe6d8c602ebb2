"""Keys: the value goes to the vault and nowhere else; what cannot be a key is refused."""

import pytest

from controlplane.audit.models import AuditEvent
from controlplane.errors import Forbidden, Invalid
from controlplane.keys.actions import add_key, revoke_key, rotate_key
from controlplane.keys.errors import ImpossibleKey, KeyNameTaken, KeyRevoked, LooksLikeSecret
from controlplane.keys.models import Key
from controlplane.keys.vault import SecretMissing, VaultUnavailable
from tests.controlplane.conftest import VALUE
from tests.controlplane.looking import everything, is_stored

pytestmark = pytest.mark.django_db

NEXT = "sk-ant-api03-" + "n3xtN3XT" * 6
GOOD = {"name": "main", "provider": "anthropic", "value": VALUE}


def test_the_database_holds_the_name_and_the_vault_the_value(as_alice, vault):
    key = add_key(as_alice, **GOOD)

    assert (key.name, key.hint, key.version) == ("main", VALUE[-4:], 1)
    assert vault.read(key.vault_path) == {"value": VALUE}
    assert is_stored(key.pk)
    assert is_stored(VALUE) == []


def test_adding_is_told_in_the_audit_log_without_the_value(as_alice):
    key = add_key(as_alice, **GOOD)

    row = AuditEvent.objects.get(action="key.added")
    assert (row.target, row.target_label, row.data) == (
        key.pk,
        "main",
        {"provider": "anthropic", "version": 1},
    )


def test_a_short_value_has_no_hint(as_alice):
    key = add_key(
        as_alice, name="own", provider="custom", value="12345678", base_url="https://h/v1"
    )

    assert key.hint == ""


SECRETS = [
    "sk-ant-api03-AbCdEfGhIjKlMnOp",
    "my key sk-proj-abcdefgh12345678",
    "sk-or-v1-0123456789abcdef",
    "sk-svcacct-abcdefgh",
    "AIzaSyD-abcdefghijklmnopqrstuvwxyz012345",
    "gsk_abcdefghijklmnop",
    "hf_abcdefghijklmnopqrst",
    "ghp_abcdefghijklmnop1234",
    "github_pat_11ABCDEFG0abcdefgh",
    "glpat-abcdefghij0123456789",
    "xoxb-123456789012-abcdef",
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x",
    "ya29.a0AfH6SMBabcdefgh",
    "rst_0a1b2c3d_abcdefghijklmnop",
    "pk_live_abcdefgh12345678",
    "xai-abcdefghijklmnopqrstuvwxyz0123456789",
    "nvapi-abcdefghijklmnopqrstuvwxyz0123",
    "r8_abcdefghijklmnop",
    "0123456789abcdef0123456789abcdef",
    "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA",
    "-----BEGIN PRIVATE KEY-----",
]
NAMES = [
    "main",
    "Claude for the whole team",
    "task-management-agent",
    "risk-assessment-2026",
    "xai-researcher",
    "sk",
    "Ops (rotates each Friday)",
    "ключ для почты",
    "👩‍🚀 crew",
    "customer-support-agent-for-the-north-west-region",
    "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
]


@pytest.mark.parametrize("name", SECRETS)
def test_a_key_in_a_name_is_refused_and_stored_nowhere(as_alice, name):
    before = everything()

    with pytest.raises(LooksLikeSecret) as refusal:
        add_key(as_alice, **GOOD | {"name": name[:60]})
    assert name[:60] not in str(refusal.value)
    assert everything() == before


@pytest.mark.parametrize("field", ["keys", "tokens", "agents", "org"])
def test_no_name_field_of_the_api_takes_a_key(alice_api, acme, field, caplog):
    before = everything()
    path = f"/api/v1/orgs/{acme.pk}" + (f"/{field}" if field != "org" else "")
    bodies = {"keys": GOOD, "agents": {"runtime": "hermes"}}
    ask = alice_api.patch if field == "org" else alice_api.post

    response = ask(path, {**bodies.get(field, {}), "name": SECRETS[0]})

    assert (response.status_code, response.json()["code"]) == (422, "looks_like_secret")
    assert SECRETS[0] not in response.content.decode() + caplog.text
    assert everything() == before


@pytest.mark.parametrize("name", NAMES)
def test_an_honest_name_is_taken(as_alice, name):
    assert add_key(as_alice, **GOOD | {"name": name}).name == name


@pytest.mark.parametrize("name", ["", " ", "two\nlines", "tab\there", "\u202eetihw", "a\x07"])
def test_a_name_is_one_line_that_can_be_seen(as_alice, name):
    with pytest.raises(Invalid):
        add_key(as_alice, **GOOD | {"name": name})
    assert not Key.objects.exists()


@pytest.mark.parametrize(
    ("provider", "value"),
    [
        ("anthropic", "sk-0123456789abcdef"),
        ("anthropic", "sk-ant"),
        ("openai", "0123456789abcdef"),
        ("gemini", "short"),
        ("gemini", "a" * 4097),
        ("gemini", "two words here"),
        ("gemini", "line\nbreak-and-more"),
        ("gemini", "ключключключ"),
        ("gemini", "nul\x00nul\x00nul"),
        ("gemini", "“quoted-by-a-mail-client”"),
    ],
)
def test_what_no_provider_hands_out_is_refused(as_alice, vault, provider, value):
    with pytest.raises(ImpossibleKey) as refusal:
        add_key(as_alice, name="main", provider=provider, value=value)

    assert refusal.value.field == "value"
    assert value not in str(refusal.value)
    assert not Key.objects.exists()
    assert vault.values == {}


@pytest.mark.parametrize(
    "base_url",
    [
        "host/v1",
        "ftp://host/v1",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "gopher://host",
        "https://",
        "https://user@host/v1",
        "https://user:secret@host/v1",
        "https://host/v1?key=secret",
        "https://host/v1#top",
        "https://host:99999/v1",
        "https://host:port/v1",
        "https://[::1/v1",
        "https://ho st/v1",
        "https://höst/v1",
        "https://host/v1\nHost: other",
        " https://host/v1",
    ],
)
def test_an_odd_address_is_refused(as_alice, base_url):
    with pytest.raises(Invalid) as refusal:
        add_key(as_alice, **GOOD | {"provider": "custom", "base_url": base_url})

    assert refusal.value.field == "base_url"
    assert "secret" not in str(refusal.value)
    assert not Key.objects.exists()


@pytest.mark.parametrize("base_url", ["https://host/v1", "http://127.0.0.1:1", "https://h.example"])
def test_an_honest_address_is_taken(as_alice, base_url):
    assert add_key(as_alice, **GOOD | {"base_url": base_url}).base_url == base_url


def test_an_own_endpoint_needs_its_address(as_alice):
    with pytest.raises(Invalid, match="needs its address"):
        add_key(as_alice, name="own", provider="custom", value="0123456789")


def test_an_unknown_provider_is_refused(as_alice):
    with pytest.raises(Invalid, match="no provider"):
        add_key(as_alice, **GOOD | {"provider": "skynet"})


def test_a_name_is_taken_once_while_it_lives(as_alice, as_charlie):
    key = add_key(as_alice, **GOOD)
    with pytest.raises(KeyNameTaken):
        add_key(as_alice, **GOOD)
    add_key(as_charlie, **GOOD)
    revoke_key(as_alice, key)

    assert add_key(as_alice, **GOOD).name == "main"


def test_while_the_vault_is_away_no_row_is_left(as_alice, vault):
    vault.sealed = True
    before = everything()

    with pytest.raises(VaultUnavailable, match="sealed"):
        add_key(as_alice, **GOOD)
    assert everything() == before


def test_the_api_says_503_then_and_takes_it_later(alice_api, acme, vault):
    path, headers = f"/api/v1/orgs/{acme.pk}/keys", {"Idempotency-Key": "once"}
    vault.sealed = True
    refused = alice_api.post(path, GOOD, headers=headers)
    vault.sealed = False

    assert (refused.status_code, refused.json()["code"]) == (503, "vault_unavailable")
    assert not Key.objects.exists()
    assert alice_api.post(path, GOOD, headers=headers).status_code == 201


def test_a_new_value_is_the_next_version(as_alice, key, vault):
    rotated = rotate_key(as_alice, key, value=NEXT)

    assert (rotated.version, rotated.hint) == (2, NEXT[-4:])
    assert rotated.rotated_at is not None
    assert vault.read(key.vault_path) == {"value": NEXT}
    assert AuditEvent.objects.get(action="key.rotated").data["version"] == 2


def test_a_rotation_that_fails_leaves_the_old_value(as_alice, key, vault):
    before = everything()
    vault.sealed = True
    with pytest.raises(VaultUnavailable):
        rotate_key(as_alice, key, value=NEXT)
    vault.sealed = False

    assert everything() == before
    assert vault.read(key.vault_path) == {"value": VALUE}


def test_a_rotation_checks_the_value_too(as_alice, key):
    with pytest.raises(ImpossibleKey):
        rotate_key(as_alice, key, value="sk-0123456789abcdef")
    assert Key.objects.get().version == 1


def test_a_revoked_value_is_gone(as_alice, key, vault):
    revoke_key(as_alice, key)

    with pytest.raises(SecretMissing):
        vault.read(key.vault_path)
    assert Key.objects.get().revoked_at is not None
    assert not Key.objects.live().exists()


@pytest.mark.parametrize("act", [revoke_key, lambda a, k: rotate_key(a, k, value=NEXT)])
def test_a_revoked_key_changes_no_more(as_alice, key, act):
    revoke_key(as_alice, key)
    before = everything()

    with pytest.raises(KeyRevoked):
        act(as_alice, key)
    assert everything() == before


def test_a_revocation_that_fails_keeps_the_key(as_alice, key, vault):
    vault.sealed = True
    with pytest.raises(VaultUnavailable):
        revoke_key(as_alice, key)

    assert Key.objects.live().get() == key


def test_a_viewer_adds_nothing(as_bob, vault):
    with pytest.raises(Forbidden):
        add_key(as_bob, **GOOD)
    assert vault.values == {}


def test_no_answer_of_the_api_holds_the_value(alice_api, acme):
    path = f"/api/v1/orgs/{acme.pk}/keys"
    made = alice_api.post(path, GOOD).json()
    rotated = alice_api.post(f"{path}/{made['id']}/rotate", {"value": NEXT})

    answers = [rotated, alice_api.get(path), alice_api.get(f"{path}/{made['id']}")]
    for answer in answers:
        assert answer.status_code == 200
        assert VALUE[:-4] not in answer.content.decode()
        assert NEXT[:-4] not in answer.content.decode()


@pytest.mark.parametrize("odd", ["'", "\\", "${"])
def test_what_a_runtime_could_not_read_is_refused_at_entry(as_alice, odd):
    with pytest.raises(ImpossibleKey, match="Copy it again"):
        add_key(as_alice, **GOOD | {"provider": "custom", "value": f"sk-0123{odd}456789abcdef"})

    assert not Key.objects.exists()
