"""The real vault: two roles with different rights, values byte for byte, and failures told."""

import socket
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest

from controlplane.ids import new_id
from controlplane.keys.vault import SecretMissing, VaultUnavailable
from controlplane.keys.vault.openbao import OpenBaoVault

VALUE = "sk-ant-" + "v4lueV4LUE" * 4


def sign_in(settings, services, role, address=None) -> OpenBaoVault:
    """A vault client with the role of one process; settings are read on first use too."""
    settings.VAULT_ADDR = address or services["VAULT_ADDR"]
    settings.VAULT_MOUNT = services["VAULT_MOUNT"]
    settings.VAULT_ROLE_ID = services[f"VAULT_{role}_ROLE_ID"]
    settings.VAULT_SECRET_ID = services[f"VAULT_{role}_SECRET_ID"]
    found = OpenBaoVault()
    found.session._sign_in()
    return found


@pytest.fixture
def provisioner(settings, services) -> OpenBaoVault:
    return sign_in(settings, services, "PROVISIONER")


@pytest.fixture
def web(provisioner, settings, services) -> OpenBaoVault:
    """Made last, so that the settings are those of the web process."""
    return sign_in(settings, services, "WEB")


@pytest.fixture
def path() -> str:
    return f"orgs/{new_id('org')}/keys/{new_id('key')}"


@pytest.fixture
def own() -> str:
    return f"agents/{new_id('agt')}"


AWKWARD = {
    "dollars": "$HOME ${PATH} $(id) `id`",
    "quotes": """'single' "double" \\'both\\" """,
    "a hash": "# not a comment; really // not",
    "JSON": '{"value": ["a", null, 1e3], "\\u0041": "\\n"}',
    "lines": "one\ntwo\r\nthree\n\n-----BEGIN KEY-----\nabc\n-----END KEY-----\n",
    "unicode": "ключ 鍵 🔑 e\u0301 \u202e \ufeff",
    "32 KiB": "0123456789abcde\n" * 2048,
    "blanks around": "  value\t ",
    "nothing": "",
    "controls": "\x01\x1f\x7f",
}


@pytest.mark.parametrize("value", AWKWARD.values(), ids=AWKWARD.keys())
def test_every_value_comes_back_byte_for_byte(web, provisioner, path, value):
    web.write(path, {"value": value})

    assert provisioner.read(path)["value"].encode() == value.encode()


def test_the_web_process_writes_but_cannot_read(web, provisioner, path):
    assert [web.write(path, {"value": text}) for text in ("old", VALUE)] == [1, 2]

    with pytest.raises(VaultUnavailable, match="does not let this process do that") as refusal:
        web.read(path)
    assert VALUE not in everything_said(refusal.value)
    assert provisioner.read(path) == {"value": VALUE}


def test_the_provisioner_reads_but_cannot_write_a_customers_key(provisioner, path):
    with pytest.raises(VaultUnavailable):
        provisioner.write(path, {"value": VALUE})
    with pytest.raises(SecretMissing):
        provisioner.read(path)


def test_the_web_process_has_no_way_into_what_agents_hold(web, provisioner, own):
    provisioner.write_if_missing(own, {"gateway": VALUE})

    for act in (lambda: web.read(own), lambda: web.write(own, {"gateway": "mine"})):
        with pytest.raises(VaultUnavailable):
            act()
    assert provisioner.read(own) == {"gateway": VALUE}


def test_the_first_write_stays(provisioner, own):
    assert provisioner.write_if_missing(own, {"gateway": "first"})
    assert not provisioner.write_if_missing(own, {"gateway": "second"})

    assert provisioner.read(own) == {"gateway": "first"}


def test_of_many_first_writes_at_once_one_stays(provisioner, own):
    with ThreadPoolExecutor(8) as threads:
        list(
            threads.map(
                lambda at: provisioner.write_if_missing(own, {"gateway": str(at)}), range(8)
            )
        )

    assert provisioner.read(own)["gateway"] in set("01234567")


def test_what_is_deleted_is_gone_with_every_version(web, provisioner, path):
    for text in ("old", "new"):
        web.write(path, {"value": text})
    web.delete(path)
    web.delete(path)

    with pytest.raises(SecretMissing):
        provisioner.read(path)
    assert web.write(path, {"value": "again"}) == 1


def test_nothing_there_is_missing_not_away(provisioner, path):
    with pytest.raises(SecretMissing):
        provisioner.read(path)


def test_a_token_that_was_revoked_meanwhile_is_replaced(web, provisioner, path):
    web.session.client.auth.token.revoke_self()

    assert web.write(path, {"value": VALUE}) == 1
    assert provisioner.read(path) == {"value": VALUE}


def test_so_it_is_for_many_threads_at_once(web, path):
    web.session.client.auth.token.revoke_self()

    with ThreadPoolExecutor(8) as threads:
        versions = list(threads.map(lambda at: web.write(path, {"value": str(at)}), range(24)))
    assert sorted(versions) == list(range(1, 25))


def test_wrong_credentials_are_told_as_ours(web, settings, path):
    settings.VAULT_SECRET_ID = "wrong"
    web.session.client.token = ""

    with pytest.raises(VaultUnavailable, match="does not let this process in") as refusal:
        web.write(path, {"value": VALUE})
    assert VALUE not in everything_said(refusal.value)


def test_a_vault_that_is_stopped_is_away_at_once(settings, services, path):
    settings.VAULT_ADDR = "http://127.0.0.1:1"
    settings.VAULT_ROLE_ID = settings.VAULT_SECRET_ID = "any"
    began = time.monotonic()

    with pytest.raises(VaultUnavailable, match="Nothing was stored") as refusal:
        OpenBaoVault().write(path, {"value": VALUE})
    assert time.monotonic() - began < 3
    assert VALUE not in everything_said(refusal.value)


def test_a_vault_that_stops_meanwhile_is_away_and_tells_no_value(web, path):
    web.session.client.adapter.base_uri = "http://127.0.0.1:1"

    with pytest.raises(VaultUnavailable) as refusal:
        web.write(path, {"value": VALUE})
    assert VALUE not in everything_said(refusal.value)


def test_a_vault_that_hangs_is_away_after_seconds(web, path, silent_server):
    web.session.client.adapter.base_uri = silent_server
    began = time.monotonic()

    with pytest.raises(VaultUnavailable, match="does not answer"):
        web.write(path, {"value": VALUE})
    assert time.monotonic() - began < 8


@pytest.fixture
def silent_server():
    """Takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def everything_said(error: BaseException) -> str:
    """Its text, its repr, its traceback, and those of all that led to it."""
    said = "".join(traceback.format_exception(error))
    seen: BaseException | None = error
    while seen is not None:
        said += f"{seen} {seen!r} {seen.__dict__!r}"
        seen = seen.__cause__ or seen.__context__
    return said


def test_a_vault_that_hangs_holds_up_each_caller_only_once(settings, services, path, silent_server):
    settings.VAULT_ADDR = silent_server
    settings.VAULT_ROLE_ID = settings.VAULT_SECRET_ID = "any"
    shared, began = OpenBaoVault(), time.monotonic()

    def write(at):
        with pytest.raises(VaultUnavailable):
            shared.write(path, {"value": VALUE})

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    assert time.monotonic() - began < 8


def test_what_lies_in_a_folder_is_listed_by_the_provisioner_and_gone_when_deleted(provisioner, own):
    provisioner.write(own, {"gateway": "t"})
    provisioner.write(own, {"gateway": "u"})
    provisioner.write("agents/backup-keys/org_x", {"restic": "k"})
    folder, _, name = own.partition("/")

    assert {name, "backup-keys/"} <= set(provisioner.names(folder))

    provisioner.delete(own)
    assert name not in provisioner.names(folder)
    assert provisioner.names(f"agents/{new_id('agt')}") == []


def test_the_web_process_lists_no_agents(web, own):
    with pytest.raises(VaultUnavailable):
        web.names("agents")
