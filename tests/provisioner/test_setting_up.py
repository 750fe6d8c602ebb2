"""A runtime's headless first run: once for a container; kept in the vault, told to the node."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType, SimpleNamespace

import pytest
from django.utils.timezone import now

from controlplane.agents import actions
from controlplane.agents.models import Agent
from provisioner import delivery, setting_up
from runtimes import catalog
from runtimes.adapter import RuntimeRefused, RuntimeUnreachable

pytestmark = pytest.mark.django_db(transaction=True)


class FirstRun:
    """Stands for a runtime's set-up module."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict]] = []
        self.trouble: Exception | None = None
        self.hangs = False

    async def set_up(self, client, endpoint, title, settings):
        self.calls.append((title, dict(settings)))
        if self.hangs:
            await asyncio.sleep(60)
        if self.trouble:
            raise self.trouble
        return {"token": "board-0123456789", "company": "c-1"}


@pytest.fixture
def first_run(monkeypatch) -> FirstRun:
    """Hermes as if it had one."""
    made = FirstRun()
    hermes = replace(catalog.CATALOG["hermes"], setup="tests.first_run")
    changed = MappingProxyType({**catalog.CATALOG, "hermes": hermes})
    for module in ("act", "delivery", "look", "outcomes", "setting_up", "turns"):
        monkeypatch.setattr(f"provisioner.{module}.CATALOG", changed)
    module = SimpleNamespace(set_up=made.set_up)
    monkeypatch.setattr(setting_up, "load_setup", lambda runtime: module)
    return made


def test_it_runs_once_for_a_new_container(agent, go, first_run):
    agent = go(agent)
    go(agent)

    assert agent.status == "running"
    assert [title for title, _ in first_run.calls] == ["scout"]
    assert first_run.calls[0][1]["provider"] == "custom"


def test_what_it_came_back_with_is_in_the_vault_and_with_the_node(agent, go, first_run, backend):
    agent = go(agent)

    kept = backend.vault.read(delivery.vault_path(agent.pk))
    held = backend.keys.find(agent.pk)
    assert kept["own.token"] == "board-0123456789"
    assert held is not None
    assert (held.token, held.own["company"]) == ("board-0123456789", "c-1")


def test_it_is_not_repeated_for_a_container_that_only_started_again(agent, go, first_run, as_alice):
    agent = go(agent)
    actions.stop_agent(as_alice, agent)
    go(agent)
    actions.start_agent(as_alice, agent)

    assert go(agent).status == "running"
    assert len(first_run.calls) == 1


def test_a_replaced_container_is_set_up_with_its_new_settings(agent, go, first_run, as_alice):
    agent = go(agent)
    actions.update_agent(as_alice, agent, size="medium")

    assert go(agent).status == "running"
    assert len(first_run.calls) == 2


def test_a_first_run_that_fails_is_told_and_tried_again(agent, go, first_run):
    first_run.trouble = RuntimeUnreachable("The agent's runtime does not answer.")
    agent = go(agent)
    assert (agent.status, agent.reason) == ("starting", "set_up_failed")
    assert "first run" in agent.message

    first_run.trouble = None

    assert go(agent).status == "running"


def test_one_that_never_succeeds_is_given_up_at_its_deadline_and_says_so(agent, go, first_run):
    first_run.trouble = RuntimeUnreachable("The agent's runtime does not answer.")
    go(agent)
    Agent.objects.filter(pk=agent.pk).update(deadline_at=now() - timedelta(seconds=1))

    agent = go(agent)

    assert (agent.status, agent.reason) == ("failed", "start_timed_out")
    assert "its first run did not succeed" in agent.message


def test_trying_again_and_again_is_one_line_of_the_timeline(agent, go, first_run):
    first_run.trouble = RuntimeUnreachable("The agent's runtime does not answer.")
    agent = go(agent)
    before = agent.events.count()

    agent = go(go(agent))

    assert len(first_run.calls) == 3
    assert agent.events.count() == before


def test_a_key_that_a_runtime_answers_with_is_not_stored(agent, go, first_run):
    key = "sk-ant-api03-" + "Ab1" * 12
    first_run.trouble = RuntimeRefused(500, f"cannot use {key} here")

    agent = go(agent)

    assert key not in agent.message
    assert "answered 500" in agent.message


def test_one_that_hangs_is_told_why(agent, go, first_run, monkeypatch):
    monkeypatch.setattr(setting_up, "PATIENCE", 0.01)
    first_run.hangs = True

    agent = go(agent)

    assert (agent.status, agent.reason) == ("starting", "set_up_failed")
    assert "It took longer than" in agent.message


def test_without_the_vault_it_is_not_begun(agent, go, first_run, backend):
    first_run.trouble = RuntimeUnreachable("The agent's runtime does not answer.")
    go(agent)
    backend.vault.sealed = True

    agent = go(agent)

    assert (agent.status, agent.reason) == ("waiting", "vault_unavailable")
    assert len(first_run.calls) == 1
