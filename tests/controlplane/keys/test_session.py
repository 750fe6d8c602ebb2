"""Signed in to a real vault for days: renewed in time, anew at the end, and one at a time."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from controlplane.ids import new_id
from controlplane.keys.vault import VaultUnavailable
from controlplane.keys.vault.openbao import OpenBaoVault
from deploy.vault import login, policy
from tests.controlplane.keys.vaults import BareVault, bare_vault, wait

VALUE = {"value": "any"}
# What we ask of a vault. Each is in the HTTP API of OpenBao 2 and of HashiCorp Vault 1 alike:
# auth/approle, auth/token, and the key-value store's version 2.
BOTH_KNOW = {
    "POST auth/approle/login",
    "POST auth/token/renew-self",
    "POST roost/data",
    "GET roost/data",
    "DELETE roost/metadata",
    "POST roost/destroy",
    "PUT roost/destroy",
    "GET sys/seal-status",
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory):
    with bare_vault(tmp_path_factory.mktemp("vault") / "one") as found:
        found.ask("POST", "sys/mounts/roost", {"type": "kv", "options": {"version": "2"}})
        found.ask("POST", "sys/auth/approle", {"type": "approle"})
        for role in ("web", "provisioner"):
            found.ask("PUT", f"sys/policies/acl/{role}", {"policy": policy(role)})
        yield found


@pytest.fixture
def path() -> str:
    return f"orgs/{new_id('org')}/keys/{new_id('key')}"


def client(settings, bare: BareVault, role="web", **fields) -> OpenBaoVault:
    """A client whose role has these fields; it notes what it asks."""
    bare.ask("POST", f"auth/approle/role/{role}", {**login(role, []), **fields})
    named = bare.ask("GET", f"auth/approle/role/{role}/role-id").json()["data"]
    secret = bare.ask("POST", f"auth/approle/role/{role}/secret-id", {}).json()["data"]
    settings.VAULT_ADDR, settings.VAULT_MOUNT = bare.address, "roost"
    settings.VAULT_ROLE_ID, settings.VAULT_SECRET_ID = named["role_id"], secret["secret_id"]
    vault = OpenBaoVault()
    vault.asked = Counter()
    vault.session.client.session.hooks["response"].append(
        lambda answer, **_: vault.asked.update([_told(answer.request)])
    )
    return vault


def _told(request) -> str:
    path = request.path_url.partition("?")[0].removeprefix("/v1/")
    first, second, *rest = path.split("/")
    whole = [first, second, *rest] if first in {"auth", "sys"} else [first, second]
    return f"{request.method} {'/'.join(whole)}"


SIGN_IN, RENEW = "POST auth/approle/login", "POST auth/token/renew-self"


def test_many_at_once_bring_one_sign_in(settings, bare, path):
    vault = client(settings, bare)

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda at: vault.write(path, {"value": str(at)}), range(48)))
    assert vault.asked[SIGN_IN] == 1


def test_a_token_is_renewed_before_its_end(settings, bare, path):
    vault = client(settings, bare, token_ttl="60s", token_max_ttl="1h")
    vault.write(path, VALUE)
    vault.session._grant.renew_at = time.monotonic()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda at: vault.write(path, {"value": str(at)}), range(24)))
    assert (vault.asked[RENEW], vault.asked[SIGN_IN]) == (1, 1)
    assert vault.session._grant.renew_at > time.monotonic() + 20


def test_near_its_longest_life_it_is_signed_in_anew(settings, bare, path):
    vault = client(settings, bare, token_ttl="60s", token_max_ttl="62s")
    vault.write(path, VALUE)
    vault.session._grant.full = 300.0  # as one that had more when it was young
    vault.session._grant.renew_at = time.monotonic()

    vault.write(path, VALUE)

    assert (vault.asked[RENEW], vault.asked[SIGN_IN]) == (1, 2)


def test_a_token_that_ended_while_nobody_asked_is_replaced(settings, bare, path):
    vault = client(settings, bare, token_ttl="1s", token_max_ttl="1s")

    assert [vault.write(path, VALUE) for _ in range(3)] == [1, 2, 3]
    time.sleep(1.2)
    assert vault.write(path, VALUE) == 4


def test_a_renewal_that_is_refused_is_a_sign_in(settings, bare, path):
    vault = client(settings, bare)
    vault.write(path, VALUE)
    vault.session.client.auth.token.revoke_self()
    vault.session._grant.renew_at = time.monotonic()

    assert vault.write(path, VALUE) == 2


def test_a_sealed_vault_is_told_and_used_again_once_it_is_open(settings, bare, path):
    vault = client(settings, bare)
    vault.write(path, VALUE)
    bare.seal()
    try:
        with pytest.raises(VaultUnavailable, match="it is sealed"):
            vault.write(path, VALUE)
        with pytest.raises(VaultUnavailable, match="it is sealed"):
            OpenBaoVault().write(path, VALUE)  # one that has yet to sign in
    finally:
        bare.unseal()

    assert vault.write(path, VALUE) == 2


def test_a_token_in_the_environment_is_not_used(settings, bare, path, monkeypatch):
    monkeypatch.setenv("VAULT_TOKEN", bare.root)
    vault = client(settings, bare)

    vault.write(path, VALUE)

    with pytest.raises(VaultUnavailable, match="does not let this process do that"):
        vault.read(path)


def test_no_proxy_of_the_environment_sees_a_key(settings, bare, path, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

    assert client(settings, bare).write(path, VALUE) == 1


def test_a_version_is_read_and_the_ones_before_are_destroyed(settings, bare, path):
    provisioner = client(settings, bare, "provisioner")
    provisioner.session._sign_in()  # while the settings are its own
    web = client(settings, bare)
    for text in ("one", "two", "three"):
        web.write(path, {"value": text})
    assert provisioner.read(path, 2) == {"value": "two"}

    web.destroy_before(path, 3)

    assert bare.ask("GET", f"roost/metadata/{path}").json()["data"]["versions"]["2"]["destroyed"]
    assert provisioner.read(path) == provisioner.read(path, 3) == {"value": "three"}


def test_we_ask_only_what_both_kinds_of_vault_know(settings, bare, path):
    settings.VAULT_MUST_BE_DURABLE = True
    provisioner = client(settings, bare, "provisioner")
    provisioner.session._sign_in()  # while the settings are its own
    web = client(settings, bare)
    web.refuse_forgetful()
    web.write(path, VALUE)
    web.session._grant.renew_at = time.monotonic()
    web.write(path, VALUE)
    web.destroy_before(path, 2)
    provisioner.read(path, 2)
    provisioner.write_if_missing(f"agents/{new_id('agt')}", VALUE)
    web.delete(path)

    asked = set(web.asked) | set(provisioner.asked)
    assert asked <= BOTH_KNOW
    assert len(asked) >= 7


def test_the_audit_device_tells_who_did_it_and_no_value(settings, bare, path, tmp_path_factory):
    secret = "sk-ant-" + "n0wh3re" * 5
    client(settings, bare).write(path, {"value": secret})

    log = next(tmp_path_factory.getbasetemp().glob("vault*/one/audit.log"))
    wait(lambda: path in log.read_text())
    assert secret not in log.read_text()
