"""Checkpoints through the gateway: those of the caller's agent, while its workspace is there."""

import asyncio
from pathlib import Path

import pytest

from controlplane.agents.models import Agent
from provisioner.backend import Backend
from provisioner.workspaces.base import Kept
from runtimes.base import roost_state
from tests.provisioner.gateway.visits import Caller

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def workspace(backend: Backend, talking: Agent, tmp_path: Path, monkeypatch) -> Path:
    data = tmp_path / "data"
    (data / ".roost").mkdir(parents=True)
    monkeypatch.setenv("ROOST_STATE_HOME", str(data / ".roost" / "checkpoints"))
    backend.workspaces.places[talking.pk] = Kept(data)
    return data


@pytest.fixture
def caller(as_alice, talking: Agent) -> Caller:
    return Caller(as_alice, talking)


def get(caller: Caller, verb: str = "checkpoints"):
    return asyncio.run(caller.get(verb, "checkpoints"))


def test_they_are_told_without_their_values(caller, workspace):
    roost_state.save("counter", "the value", step="one")

    answer = get(caller)

    (row,) = answer.json()["checkpoints"]
    assert (row["name"], row["sequence"], row["steps_done"], row["broken"]) == (
        "counter", 1, 1, False,
    )  # fmt: skip
    assert row["age_s"] < 60
    assert "the value" not in answer.text


def test_before_the_first_the_list_is_empty(caller, workspace):
    assert get(caller).json() == {"checkpoints": [], "note": ""}


def test_a_workspace_that_is_not_mounted_is_called_that(caller, talking):
    Agent.objects.filter(pk=talking.pk).update(status="stopped")

    answer = get(caller)

    assert (answer.status_code, answer.json()["code"]) == (409, "workspace_not_mounted")
    assert "scout is stopped" in answer.json()["message"]
    assert "start it to see them" in answer.json()["message"]


def test_nobody_is_told_to_start_what_comes_by_itself(caller, talking):
    assert "they show when it is mounted again" in get(caller).json()["message"]


def test_a_workspace_that_cannot_be_opened_is_the_nodes_trouble(caller, workspace):
    (workspace / ".roost").rmdir()
    workspace.rmdir()

    answer = get(caller)

    assert (answer.status_code, answer.json()["code"]) == (503, "workspace_unreadable")


def test_a_ticket_for_something_else_does_not_open_it(caller, workspace):
    assert get(caller, "logs").json()["code"] == "bad_ticket"
