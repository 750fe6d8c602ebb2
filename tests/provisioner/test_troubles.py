"""What a pass meets when a part is away or says no, on the fake engine."""

import ipaddress

import pytest

from controlplane.agents import actions
from controlplane.agents.models import Agent
from controlplane.keys.actions import add_key, revoke_key
from provisioner import names, networks
from provisioner.plan import CRASH_BUDGET
from provisioner.workspaces.base import WorkspaceTrouble

pytestmark = pytest.mark.django_db(transaction=True)


def kinds(agent: Agent) -> list[str]:
    return [event.kind for event in agent.events.order_by("id")]


def test_a_sealed_vault_makes_a_new_agent_wait_and_go_on_by_itself(agent, go, vault):
    vault.sealed = True
    agent = go(agent)
    assert (agent.status, agent.reason) == ("waiting", "vault_unavailable")

    vault.sealed = False

    assert go(agent).status == "running"


def test_a_sealed_vault_does_not_keep_a_crashed_agent_down(running, go, vault, engine, container):
    vault.sealed = True
    engine.kill(container, restarts=False)

    assert go(running).status == "running"


def test_a_restart_with_the_vault_sealed_leaves_the_old_one_running(
    running, go, vault, engine, container, as_alice
):
    vault.sealed = True
    before = engine.kept[container]
    actions.restart_agent(as_alice, running)

    assert go(running).status == "waiting"
    assert engine.kept[container] == before


def test_a_missing_image_is_said_and_the_old_one_runs_on(running, go, engine, container, as_alice):
    running = actions.update_agent(as_alice, running, size="medium")
    engine.missing_images.add(running.release.image)

    running = go(running)

    assert (running.status, running.reason) == ("waiting", "image_missing")
    assert engine.kept[container].up


def test_a_silent_engine_is_unknown_and_never_gone(running, go, engine, container):
    engine.silent = True
    running = go(running)
    assert running.status == "unknown"

    engine.silent = False

    assert go(running).status == "running"
    assert container in engine.kept


def test_a_lost_workspace_is_never_replaced_by_a_blank_one(running, go, backend, engine, container):
    engine.lose(container)
    backend.workspaces.destroy(running.pk)

    running = go(running)

    assert (running.status, running.reason) == ("failed", "workspace_lost")
    assert container not in engine.kept


def test_a_revoked_key_is_told(as_alice, go, backend):
    key = add_key(as_alice, name="main", provider="openai", value="sk-0123456789abcdef")
    agent = actions.create_agent(as_alice, name="keyed", runtime="hermes", key=key.pk)
    revoke_key(as_alice, key)

    agent = go(agent)

    assert (agent.status, agent.reason) == ("waiting", "key_gone")
    assert "main" in agent.message


def test_a_paused_organisation_starts_nothing_in_the_worker_either(agent, go, acme, engine):
    type(acme).objects.filter(pk=acme.pk).update(paused_reason="The invoice of May is open.")

    agent = go(agent)

    assert (agent.status, agent.reason) == ("waiting", "organisation_paused")
    assert engine.kept == {}


def test_an_engine_that_refuses_is_tried_again_then_given_up(agent, go, engine, monkeypatch):
    from provisioner.engines.base import EngineRefused

    def refuse(name: str) -> None:
        raise EngineRefused("no space left on device")

    monkeypatch.setattr(engine, "ensure_started", refuse)
    for _ in range(CRASH_BUDGET):
        agent = go(agent)

    assert (agent.status, agent.reason) == ("failed", "engine_refused")
    assert "no space left on device" in agent.message


def test_what_a_node_cannot_do_for_long_is_one_line_of_the_timeline(
    agent, go, backend, monkeypatch
):
    def full(*args: object, **kwargs: object) -> None:
        raise WorkspaceTrouble("The disk of its node is full.")

    with monkeypatch.context() as patched:
        patched.setattr(backend.workspaces, "ensure", full)
        agent = go(go(go(agent)))
        assert (agent.status, agent.reason) == ("waiting", "workspace_trouble")
        assert kinds(agent) == ["created", "status.starting", "status.waiting"]

    assert go(agent).status == "running"


def test_a_stranger_on_its_address_makes_it_move(agent, go, engine):
    """T: an engine that holds leftovers of an earlier installation."""
    first = networks.place(agent).address
    second = str(ipaddress.IPv4Address(first) + 1)
    engine.strangers = {first, second}

    for _ in range(3):
        agent = go(agent)

    assert agent.status == "running"
    assert engine.kept[names.container(agent.pk)].address not in engine.strangers
    assert kinds(agent).count("step.address") == 2
    assert agent.crashes == [], "it has no part in that"


def test_strangers_on_every_address_are_told(agent, go, engine):
    network = ipaddress.IPv4Network(networks.place(agent).network.subnet)
    engine.strangers = {str(address) for address in network}

    for _ in range(networks.LAST_HOST + 2):
        agent = go(agent)

    assert (agent.status, agent.reason) == ("starting", "address_taken")

    engine.strangers = set()
    assert go(agent).status == "running"
