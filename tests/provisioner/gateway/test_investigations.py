"""Investigations through the gateway, where a runtime can do them."""

import asyncio
from datetime import UTC, datetime

import pytest

from controlplane.agents.models import Agent
from provisioner.gateway import door
from runtimes.adapter import Completed, ConversationNotFound, Investigation
from tests.provisioner.gateway.visits import Caller

pytestmark = pytest.mark.django_db(transaction=True)
FOUND = Investigation("inv-1", "Disk full", datetime(2026, 5, 1, tzinfo=UTC), "A log", "# Report")


class Investigating:
    """Stands for a runtime's adapter."""

    async def investigations(self, client, endpoint):
        return [FOUND]

    async def investigation(self, client, endpoint, investigation):
        if investigation != FOUND.id:
            raise ConversationNotFound(investigation)
        return FOUND

    async def investigate(self, client, endpoint, alert):
        yield Completed(FOUND.id, FOUND.report)


@pytest.fixture
def caller(as_alice, talking: Agent) -> Caller:
    return Caller(as_alice, talking)


@pytest.fixture
def able(talking: Agent, monkeypatch) -> None:
    Agent.objects.filter(pk=talking.pk).update(runtime="opensre")
    monkeypatch.setattr(door, "load_adapter", lambda runtime: Investigating())


def get(caller: Caller, path: str):
    return asyncio.run(caller.get("history", path))


def test_a_runtime_that_cannot_says_which_can(caller):
    answer = get(caller, "investigations")

    assert (answer.status_code, answer.json()["code"]) == (409, "cannot_investigate")
    assert "OpenSRE can" in answer.json()["message"]


def test_a_report_is_passed_on_with_its_time(caller, able):
    found = get(caller, "investigations/inv-1").json()["investigation"]

    assert (found["report"], found["at"]) == ("# Report", "2026-05-01T00:00:00Z")


def test_one_that_is_not_there_is_called_what_it_is(caller, able):
    answer = get(caller, "investigations/inv-2")

    assert (answer.status_code, answer.json()["code"]) == (404, "investigation_not_found")
    assert "no investigation of this id" in answer.json()["message"]
