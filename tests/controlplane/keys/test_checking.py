"""Keys are checked at entry (K7): wrong ones told in words, and nobody kept out by silence."""

import json

import pytest

from controlplane.errors import Invalid
from controlplane.keys.actions import add_key, rotate_key
from controlplane.keys.checking import name_of, request_of, understood
from controlplane.keys.errors import KeyRefused
from controlplane.keys.models import Key, Provider
from controlplane.outbound import Answer
from tests.controlplane.looking import everything

pytestmark = pytest.mark.django_db

ANTHROPIC = "sk-ant-api03-" + "g00dG00D" * 6
LIST = {"data": [{"id": "gpt-5.5"}, {"id": "gpt-5.4"}]}


def says(status, body) -> Answer:
    return Answer(status, {}, body if isinstance(body, bytes) else json.dumps(body).encode())


def judged(provider, answer):
    return understood(provider, name_of(provider, ""), answer)


@pytest.mark.parametrize(
    ("provider", "value"),
    [
        ("anthropic", ANTHROPIC),
        ("openai", "sk-proj-0123456789abcdef"),
        ("gemini", "AIzaSy-0123456789abcdef"),
    ],
)
def test_a_key_that_its_provider_takes_is_known_with_its_models(as_alice, model, provider, value):
    key = add_key(as_alice, name="main", provider=provider, value=value)

    assert key.checked_at is not None
    assert key.check_message.endswith("took it when it was stored.")
    assert "standin" in key.models


@pytest.mark.parametrize(
    ("provider", "value", "name"),
    [("openai", "sk-wrong-0123456789", "OpenAI"), ("gemini", "wrong-0123456789", "Google")],
)
def test_a_wrong_key_is_refused_in_words_and_stored_nowhere(
    as_alice, vault, model, provider, value, name
):
    before = everything()

    with pytest.raises(KeyRefused, match=f"{name} does not take this key") as refusal:
        add_key(as_alice, name="main", provider=provider, value=value)
    assert refusal.value.field == "value"
    assert "nothing was stored" in str(refusal.value)
    assert value not in str(refusal.value)
    assert everything() == before
    assert vault.values == {}


def test_an_own_endpoint_is_asked_too(as_alice, model):
    body = {"name": "own", "provider": "custom", "base_url": f"{model}/v1"}

    assert "standin" in add_key(as_alice, **body, value="any-0123456789").models
    with pytest.raises(KeyRefused, match="The endpoint does not take this key"):
        add_key(as_alice, **body | {"name": "wrong"}, value="wrong-0123456789")


def test_the_api_says_which_field_and_what_to_do(alice_api, acme, model):
    body = {"name": "main", "provider": "openai", "value": "sk-wrong-0123456789"}

    refused = alice_api.post(f"/api/v1/orgs/{acme.pk}/keys", body)

    assert (refused.status_code, refused.json()["code"]) == (422, "key_refused")
    assert refused.json()["errors"][0]["field"] == "value"
    assert "platform.openai.com" in refused.json()["detail"]


def test_a_provider_that_is_away_keeps_no_key_out(as_alice):
    key = add_key(as_alice, name="main", provider="anthropic", value=ANTHROPIC)

    assert (key.checked_at, key.models) == (None, [])
    assert key.check_message == (
        "Not checked: Anthropic could not be asked, because 127.0.0.1 takes no connection."
    )


def test_a_rotation_is_checked_too_and_the_old_value_stays(as_alice, vault, model):
    key = add_key(as_alice, name="main", provider="openai", value="sk-0123456789")

    with pytest.raises(KeyRefused):
        rotate_key(as_alice, key, value="sk-wrong-0123456789")
    assert vault.read(key.vault_path) == {"value": "sk-0123456789"}
    assert Key.objects.get().version == 1


def test_a_rotation_that_was_not_checked_says_so(as_alice, model, settings):
    key = add_key(as_alice, name="main", provider="openai", value="sk-0123456789")
    settings.ROOST_PROVIDER_URLS = {"openai": "http://127.0.0.1:1"}

    rotated = rotate_key(as_alice, key, value="sk-9876543210")

    assert (rotated.checked_at, rotated.models) == (None, [])
    assert rotated.check_message.startswith("Not checked: OpenAI")


@pytest.mark.parametrize(
    "base_url",
    [
        *("http://169.254.169.254/v1", "http://10.0.0.5:8080/v1", "http://[::1]/v1"),
        *("http://2130706433/v1", "http://0x7f.1/v1", "http://[::ffff:10.0.0.1]/v1"),
    ],
)
@pytest.mark.parametrize("provider", ["custom", "openai"])
def test_a_key_is_never_sent_inside(as_alice, settings, vault, provider, base_url):
    settings.ROOST_OUTBOUND_ALLOW = []
    with pytest.raises(Invalid, match="A key is not sent there") as refusal:
        add_key(as_alice, name="x", provider=provider, value="sk-0123456789", base_url=base_url)

    assert refusal.value.field == "base_url"
    assert vault.values == {}


def test_an_address_that_does_not_exist_is_refused(as_alice, settings):
    settings.ROOST_RESOLVER = "tests.controlplane.outbound.answers.answer"

    with pytest.raises(Invalid, match=r"there is no host typo\.example") as refusal:
        add_key(as_alice, name="x", provider="custom", value="sk-0123456789",
                base_url="https://typo.example/v1")  # fmt: skip
    assert refusal.value.field == "base_url"


@pytest.mark.parametrize(
    ("provider", "status", "body"),
    [
        ("anthropic", 401, {"error": {"type": "authentication_error"}}),
        ("openai", 401, {"error": {"code": "invalid_api_key"}}),
        ("gemini", 400, {"error": {"details": [{"reason": "API_KEY_INVALID"}]}}),
        ("custom", 401, b"<html>"),
    ],
)
def test_these_answers_are_a_no(provider, status, body):
    with pytest.raises(KeyRefused, match=str(status)):
        judged(provider, says(status, body))


@pytest.mark.parametrize(
    ("provider", "status", "body", "why"),
    [
        ("openai", 403, {"error": {"message": "Missing scopes: api.model.read"}}, "list models"),
        ("openai", 401, {"error": {"message": "Missing scopes: api.model.read"}}, "list models"),
        ("anthropic", 403, {"error": {"type": "permission_error"}}, "list models"),
        ("gemini", 400, {"error": {"message": "User location is not supported"}}, "400"),
        ("custom", 404, b"", "no list of models"),
        ("openai", 429, {}, "no more questions"),
        ("openai", 302, b"", "another address"),
        ("anthropic", 529, {}, "529"),
        ("anthropic", 500, b"", "500"),
        ("openai", 200, b"<html>", "no list of models"),
        ("openai", 200, [], "no list of models"),
        ("openai", 200, {"data": {}}, "no list of models"),
    ],
)
def test_these_answers_say_nothing_about_the_key(provider, status, body, why):
    found = judged(provider, says(status, body))

    assert (found.at, found.models) == (None, [])
    assert why in found.message
    assert len(found.message) <= 300


def test_models_are_what_may_be_a_models_name():
    rows = [{"id": "a"}, {"id": "b" * 101}, {"id": 7}, {}, "c", {"id": "d e"}, {"id": "f\n"}, None]

    assert judged("openai", says(200, {"data": rows})).models == ["a"]


def test_a_list_too_long_to_keep_counts_as_not_known():
    rows = [{"id": f"m-{number}"} for number in range(1001)]

    found = judged("openai", says(200, {"data": rows}))
    assert (found.at is not None, found.models) == (True, [])


def test_geminis_models_are_those_that_talk():
    rows = [
        {"name": "models/gemini-3.5-flash", "supportedGenerationMethods": ["generateContent"]},
        {"name": "models/embedding-001", "supportedGenerationMethods": ["embedContent"]},
    ]

    assert judged("gemini", says(200, {"models": rows})).models == ["gemini-3.5-flash"]


@pytest.mark.parametrize(
    ("provider", "base_url", "url"),
    [
        ("anthropic", "", "https://api.anthropic.com/v1/models?limit=1000"),
        ("openai", "", "https://api.openai.com/v1/models"),
        ("gemini", "", "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000"),
        ("anthropic", "https://h", "https://h/v1/models?limit=1000"),
        ("anthropic", "https://h/v1/", "https://h/v1/models?limit=1000"),
        ("openai", "https://h/v1", "https://h/v1/models"),
        ("openai", "https://h", "https://h/v1/models"),
        ("custom", "https://h/api/v3", "https://h/api/v3/models"),
        ("gemini", "https://h/v1beta", "https://h/v1beta/models?pageSize=1000"),
    ],
)
def test_the_list_is_asked_for_where_the_provider_has_it(settings, provider, base_url, url):
    settings.ROOST_PROVIDER_URLS = {}
    asked, headers = request_of(Provider(provider), "the-key", base_url)

    assert asked == url
    assert "the-key" in " ".join(headers.values())
    assert "the-key" not in asked


def test_a_good_list_is_a_yes():
    assert judged("openai", says(200, LIST)).models == ["gpt-5.4", "gpt-5.5"]
