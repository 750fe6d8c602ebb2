"""A rotated value reaches each agent, and only an agent that was given it is called live (K5)."""

import base64
from dataclasses import replace

import pytest

from controlplane.agents import keyring
from controlplane.agents.actions import create_agent, start_agent, stop_agent
from controlplane.keys.actions import add_key, add_secret
from controlplane.keys.models import Key, Secret
from provisioner import names
from provisioner.engines.base import EngineUnavailable

pytestmark = pytest.mark.django_db(transaction=True)

OLD, NEXT = "sk-ant-api03-" + "0ldOLD" * 6, "sk-ant-api03-" + "n3xtN3XT" * 6


@pytest.fixture
def key(as_alice) -> Key:
    return add_key(as_alice, name="main", provider="anthropic", value=OLD)


@pytest.fixture
def secret(as_alice) -> Secret:
    value = base64.b64encode(bytes(range(256))).decode()
    return add_secret(as_alice, name="CERTIFICATE", kind="file", value_base64=value)


@pytest.fixture
def agent(as_alice, key, secret):
    return create_agent(as_alice, name="scout", runtime="hermes", key=key.pk, secrets=[secret.pk])


def result(thing) -> tuple[str, int | None]:
    (found,) = keyring.results(type(thing).objects.get(pk=thing.pk))
    return found.result, found.version_live


def test_the_value_of_a_new_agent_is_live_once_it_runs(agent, key, go):
    assert result(key) == ("restarting", None)

    go(agent)

    assert result(key) == ("live", 1)


def test_now_means_restarting_and_then_live(running, as_alice, key, go, backend):
    keyring.rotate(as_alice, key, value=NEXT)
    assert result(key) == ("restarting", 1)

    go(running)

    assert result(key) == ("live", 2)
    assert backend.keys.delivered[running.pk].provider_key == NEXT


def test_the_next_start_means_the_next_start(running, as_alice, key, go, backend):
    keyring.rotate(as_alice, key, value=NEXT, apply="next_start")
    go(running)
    assert result(key) == ("at_next_start", 1)

    stop_agent(as_alice, running)
    go(running)
    assert result(key)[0] == "stopped"
    start_agent(as_alice, running)
    go(running)

    assert result(key) == ("live", 2)
    assert backend.keys.delivered[running.pk].provider_key == NEXT


def test_the_old_value_is_gone_from_the_vault(running, as_alice, key, vault):
    keyring.rotate(as_alice, key, value=NEXT)

    assert vault.values[key.vault_path] == [None, {"value": NEXT}]


def test_a_secret_goes_the_same_way_byte_for_byte(running, as_alice, secret, go, backend):
    delivered = backend.keys.delivered
    assert delivered[running.pk].files == {"CERTIFICATE": bytes(range(256))}

    keyring.rotate(as_alice, secret, value="new\r\n")
    go(running)

    assert result(secret) == ("live", 2)
    assert delivered[running.pk].files == {"CERTIFICATE": b"new\r\n"}


def test_a_revocation_stops_it_and_takes_the_value_from_the_node(
    running, as_alice, key, go, backend, vault
):
    keyring.revoke(as_alice, key)

    assert go(running).status == "stopped"
    assert not backend.keys.held(running.pk)
    assert key.vault_path not in vault.values


def test_while_the_vault_is_away_it_says_so_and_goes_on_later(running, as_alice, key, go, vault):
    keyring.rotate(as_alice, key, value=NEXT)
    vault.sealed = True
    go(running)
    assert result(key) == ("restarting", 1)

    vault.sealed = False
    go(running)

    assert result(key) == ("live", 2)


def test_one_that_was_only_paused_goes_on_with_the_old_value(running, as_alice, key, go, engine):
    keyring.rotate(as_alice, key, value=NEXT, apply="next_start")
    name = names.container(running.pk)
    engine.kept[name] = replace(engine.kept[name], state="paused")

    assert go(running).status == "running"

    assert result(key) == ("at_next_start", 1)


def test_a_start_whose_answer_the_engine_owes_us_counts(
    running, as_alice, key, go, engine, monkeypatch
):
    keyring.rotate(as_alice, key, value=NEXT)
    start = engine.ensure_started

    def started_and_silent(name: str) -> None:
        start(name)
        raise EngineUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(engine, "ensure_started", started_and_silent)
        assert go(running).status == "unknown"

    assert go(running).status == "running"
    assert result(key) == ("live", 2)
