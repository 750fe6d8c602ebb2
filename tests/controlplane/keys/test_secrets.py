"""Secrets: any bytes under the name of a variable, delivered as they were given."""

import base64

import pytest

from controlplane.audit.models import AuditEvent
from controlplane.errors import Forbidden, Invalid
from controlplane.keys.actions import add_secret, revoke_secret, rotate_secret
from controlplane.keys.delivery import read_secret
from controlplane.keys.errors import (
    ImpossibleSecret,
    KeyNameTaken,
    KeyRevoked,
    ReservedName,
)
from controlplane.keys.models import Secret
from controlplane.keys.reserved import reserved_by
from controlplane.keys.rules import check_secret_fits
from controlplane.keys.vault import SecretMissing, VaultUnavailable
from runtimes.catalog import CATALOG
from tests.controlplane.looking import everything, is_stored

pytestmark = pytest.mark.django_db

VALUE = "glsa_" + "s3cretS3CRET" * 3
AWKWARD = {
    "dollars": "$HOME ${PATH} $(id) `id`",
    "quotes": """'single' "double" \\'both\\" """,
    "a hash": "# not a comment",
    "JSON": '{"value": ["a", null, 1e3], "\\u0041": "\\n"}',
    "lines": "one\ntwo\r\nthree\n\n",
    "unicode": "ключ 鍵 🔑 e\u0301 \u202e \ufeff",
    "32 KiB": "0123456789abcde\n" * 2048,
    "blanks around": "  value\t ",
    "one byte": "x",
    "controls": "\x01\x1f\x7f",
}


@pytest.mark.parametrize("text", AWKWARD.values(), ids=AWKWARD.keys())
@pytest.mark.parametrize("kind", ["env", "file"])
def test_text_comes_out_byte_for_byte(alice_api, acme, vault, kind, text):
    body = {"name": "ANY", "kind": kind, "value": text}

    made = alice_api.post(f"/api/v1/orgs/{acme.pk}/secrets", body)

    assert made.status_code == 201, made.json()
    assert made.json()["size"] == len(text.encode())
    assert read_secret(vault, Secret.objects.get()) == text.encode()


@pytest.mark.parametrize("data", [bytes(range(256)) * 128, b"\0", b"\xff\xfe", b"nul\0nul"])
def test_any_bytes_come_out_as_a_file(alice_api, acme, vault, data):
    body = {"name": "ANY", "kind": "file", "value_base64": base64.b64encode(data).decode()}

    assert alice_api.post(f"/api/v1/orgs/{acme.pk}/secrets", body).status_code == 201
    assert read_secret(vault, Secret.objects.get()) == data


def test_text_with_a_nul_byte_comes_out_as_a_file(alice_api, acme, vault):
    body = {"name": "ANY", "kind": "file", "value": "a\0b"}

    assert alice_api.post(f"/api/v1/orgs/{acme.pk}/secrets", body).status_code == 201
    assert read_secret(vault, Secret.objects.get()) == b"a\0b"


@pytest.mark.parametrize("data", [b"\xff\xfe", b"nul\0nul"])
def test_a_variable_takes_no_such_bytes_and_offers_a_file(as_alice, vault, data):
    with pytest.raises(ImpossibleSecret, match="kind 'file'") as refusal:
        add_secret(as_alice, name="ANY", value_base64=base64.b64encode(data).decode())

    assert refusal.value.field == "value_base64"
    assert vault.values == {}


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"value": ""}, "at least one byte"),
        ({"value": "x" * 32769}, "at most 32 KiB"),
        ({"value": "é" * 16385}, "32770 bytes"),
        ({"value_base64": ""}, "at least one byte"),
        ({"value_base64": "not base64!"}, "not base64"),
        ({"value_base64": "YQ"}, "not base64"),
        ({"value": "\ud800"}, "value_base64 instead"),
        ({}, "Send the value once"),
        ({"value": "a", "value_base64": "YQ=="}, "Send the value once"),
    ],
)
def test_an_impossible_value_is_told_with_what_to_do(as_alice, vault, value, says):
    with pytest.raises(Invalid, match=says):
        add_secret(as_alice, name="ANY", **value)

    assert not Secret.objects.exists()
    assert vault.values == {}


def test_the_database_and_the_audit_log_hold_no_value(as_alice, vault):
    secret = add_secret(as_alice, name="GRAFANA_TOKEN", value=VALUE)

    assert secret.vault_path == f"orgs/{secret.organisation_id}/secrets/{secret.pk}"
    assert is_stored(secret.pk)
    assert is_stored(VALUE) == []
    assert is_stored(base64.b64encode(VALUE.encode()).decode()) == []
    row = AuditEvent.objects.get(action="secret.added")
    assert (row.target_label, row.data) == ("GRAFANA_TOKEN", {"kind": "env", "version": 1})


def test_no_answer_of_the_api_holds_the_value(alice_api, acme):
    path = f"/api/v1/orgs/{acme.pk}/secrets"
    made = alice_api.post(path, {"name": "GRAFANA_TOKEN", "value": VALUE})
    one = f"{path}/{made.json()['id']}"
    rotated = alice_api.post(f"{one}/rotate", {"value": VALUE + "2"})

    for answer in (made, rotated, alice_api.get(path), alice_api.get(one)):
        assert VALUE not in answer.content.decode()
    assert rotated.json()["version"] == 2


RESERVED = [
    *(
        "ROOST_AGENT",
        "PATH",
        "HOME",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "PYTHONPATH",
        "PYTHONSTARTUP",
    ),
    *("NODE_OPTIONS", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "LANG", "TMPDIR", "HOSTNAME"),
    *("BASH_ENV", "ENV", "IFS", "SHELL", "USER", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "_"),
    *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
    *("ANTHROPIC_BASE_URL", "LC_ALL", "PS1", "PS4", "XDG_CONFIG_HOME", "PROMPT_COMMAND"),
    *("PERL5OPT", "PERL5LIB", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"),
    *("JDK_JAVA_OPTIONS", "GIT_SSH_COMMAND", "GIT_SSH", "GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL"),
    *("GIT_CONFIG_COUNT", "GIT_ASKPASS", "HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS", "TZDIR"),
    *("AWS_CA_BUNDLE", "PIP_INDEX_URL", "UV_INDEX_URL", "NPM_CONFIG_REGISTRY", "GCONV_PATH"),
    *("LOCPATH", "MALLOC_CHECK_", "DYLD_INSERT_LIBRARIES", "ALL_PROXY", "SSL_CERT_DIR"),
    *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "OPENSSL_CONF", "EDITOR", "VISUAL", "PAGER"),
    *("BROWSER", "NODE_PATH", "PYTHONHOME", "SSH_ASKPASS", "LESSOPEN"),
]


@pytest.mark.parametrize("name", RESERVED)
def test_a_name_that_means_something_else_is_refused(as_alice, vault, name):
    with pytest.raises(ReservedName) as refusal:
        add_secret(as_alice, name=name, value="x")

    assert refusal.value.field == "name"
    assert vault.values == {}


def test_a_runtimes_own_names_are_kept_from_its_agents():
    names = [
        (runtime.title, pattern.replace("*", "X"))
        for runtime in CATALOG.values()
        for pattern in runtime.reserved_env
    ]
    assert names
    for title, name in names:
        with pytest.raises(ReservedName, match=title):
            check_secret_fits(next(r for r in CATALOG.values() if r.title == title), name)


@pytest.mark.parametrize("name", ["http_proxy", "npm_config_registry", "Npm_Config_Registry"])
def test_small_letters_hide_no_such_name(name):
    assert reserved_by(name)


def test_the_refusal_says_to_whom_it_means_something(as_alice):
    with pytest.raises(ReservedName, match="GIT_SSH_COMMAND means something to Git already"):
        add_secret(as_alice, name="GIT_SSH_COMMAND", value="x")


@pytest.mark.parametrize(
    ("runtime", "name"),
    [
        *(("hermes", name) for name in ("TERMINAL_ENV", "TERMINAL_CWD", "GATEWAY_PROXY_URL")),
        *(("hermes", name) for name in ("MESSAGING_CWD", "TIRITH_ENABLED", "CUSTOM_BASE_URL")),
        *(("openclaw", name) for name in ("OPENCLAW_HOME", "PI_CODING_AGENT_DIR", "VITEST")),
        *(("opensre", name) for name in ("LANGCHAIN_ENDPOINT", "LANGSMITH_TRACING")),
        *(("paperclip", name) for name in ("PORT", "HOST", "RUN_LOG_BASE_PATH")),
    ],
)
def test_what_a_runtime_reads_of_its_own_wiring_is_its_own(runtime, name):
    with pytest.raises(ReservedName, match=CATALOG[runtime].title):
        check_secret_fits(CATALOG[runtime], name)


@pytest.mark.parametrize("runtime", CATALOG)
@pytest.mark.parametrize(
    "name",
    [
        *("GITHUB_TOKEN", "TELEGRAM_BOT_TOKEN", "SLACK_BOT_TOKEN", "DISCORD_BOT_TOKEN"),
        *("GRAFANA_READ_TOKEN", "AWS_SECRET_ACCESS_KEY", "NPM_TOKEN", "GIT_PASSWORD"),
    ],
)
def test_a_third_partys_credential_fits_every_runtime(as_alice, runtime, name):
    check_secret_fits(CATALOG[runtime], name)
    assert reserved_by(name) == ""


@pytest.mark.parametrize(
    "name",
    [
        *(
            "GRAFANA_TOKEN",
            "DATADOG_API_KEY",
            "A",
            "_PRIVATE",
            "X9",
            "DATABASE_URL",
            "A" * 64,
        ),
        *(
            "SENTRY_DSN",
            "ASIA_PACIFIC_REGION_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "KUBECONFIG",
            "GH_TOKEN",
        ),
    ],
)
def test_an_honest_name_is_taken(as_alice, name):
    assert add_secret(as_alice, name=name, value="x").name == name
    check_secret_fits(CATALOG["hermes"], name)


@pytest.mark.parametrize(
    "name", ["", "lower", "9LIVES", "WITH-DASH", "WITH BLANK", "A=B", "A\0", "Ä", "A" * 65, "A\n"]
)
def test_an_impossible_name_is_refused(as_alice, name):
    with pytest.raises(Invalid, match="named like an environment variable"):
        add_secret(as_alice, name=name, value="x")


@pytest.mark.parametrize(
    "name",
    [
        *("sk-ant-api03-AbCdEfGhIjKlMnOp", "AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE"),
        *("ghp_abcdefghijklmnop1234", "X_JBSWY3DPEHPK3PXPJBSWY3DP", "hf_abcdefghijklmnopqrst"),
    ],
)
def test_a_value_in_place_of_the_name_is_stored_nowhere(alice_api, acme, caplog, name):
    before = everything()

    response = alice_api.post(f"/api/v1/orgs/{acme.pk}/secrets", {"name": name, "value": "x"})

    assert (response.status_code, response.json()["code"]) == (422, "looks_like_secret")
    assert name not in response.content.decode() + caplog.text
    assert everything() == before


def test_a_name_is_taken_once_while_it_lives(as_alice, as_charlie, secret):
    with pytest.raises(KeyNameTaken, match="already have a secret called GRAFANA_TOKEN") as taken:
        add_secret(as_alice, name=secret.name, value="x")
    assert taken.value.code == "secret_name_taken"
    add_secret(as_charlie, name=secret.name, value="x")
    revoke_secret(as_alice, secret)

    assert add_secret(as_alice, name=secret.name, value="x").version == 1


def test_a_rotated_value_is_delivered_and_the_old_one_destroyed(
    as_alice, secret, vault, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        rotated = rotate_secret(as_alice, secret, value="new")

    assert (rotated.version, rotated.size) == (2, 3)
    assert read_secret(vault, rotated) == b"new"
    with pytest.raises(SecretMissing):
        vault.read(secret.vault_path, 1)


def test_a_row_that_was_read_before_the_rotation_leads_to_the_new_value(
    as_alice, secret, vault, django_capture_on_commit_callbacks
):
    stale = Secret.objects.get()
    with django_capture_on_commit_callbacks(execute=True):
        rotate_secret(as_alice, secret, value="new")

    assert read_secret(vault, stale) == b"new"
    assert stale.version == 2


def test_a_value_that_was_never_accepted_is_never_delivered(as_alice, secret, vault):
    vault.write(secret.vault_path, {"base64": "bm8="})

    assert read_secret(vault, Secret.objects.get()) == b"glsa-value"


def test_a_rotation_that_fails_leaves_the_old_value(as_alice, secret, vault):
    before = everything()
    vault.sealed = True
    with pytest.raises(VaultUnavailable):
        rotate_secret(as_alice, secret, value="new")
    vault.sealed = False

    assert everything() == before
    assert read_secret(vault, secret) == b"glsa-value"


def test_a_rotation_keeps_to_the_kind(as_alice, secret):
    with pytest.raises(ImpossibleSecret, match="NUL"):
        rotate_secret(as_alice, secret, value="a\0b")


def test_a_revoked_secret_is_gone_and_changes_no_more(as_alice, secret, vault):
    revoke_secret(as_alice, secret)

    assert vault.values == {}
    with pytest.raises(SecretMissing):
        read_secret(vault, secret)
    with pytest.raises(KeyRevoked, match="Add a new secret"):
        rotate_secret(as_alice, secret, value="new")


def test_a_viewer_adds_nothing(as_bob, vault):
    with pytest.raises(Forbidden):
        add_secret(as_bob, name="ANY", value="x")
    assert vault.values == {}
