"""History and turns through the gateway, and what is left when a caller leaves: nothing."""

import asyncio
import json
import logging

import pytest

from controlplane.agents.models import Agent
from provisioner.gateway import chat
from runtimes.adapter import Failed
from tests.provisioner.gateway.agents import ADDRESS, PORT, answering
from tests.provisioner.gateway.visits import Caller
from tests.runtimes.servers import drip, serving

pytestmark = pytest.mark.django_db(transaction=True)
HELLO = json.dumps({"text": "hello"}).encode()


@pytest.fixture
def caller(as_alice, talking: Agent) -> Caller:
    return Caller(as_alice, talking)


def history(caller, rows, **query):
    """What the gateway makes of an agent's answer."""

    async def ask():
        async with answering(rows):
            return await caller.get("history", "messages", **query)

    return asyncio.run(ask())


def test_a_history_is_passed_on_with_its_times(caller):
    rows = {
        "data": [{"id": 1, "role": "user", "content": "hi \u2028 \ud83d\ude00", "timestamp": 0}]
    }

    assert history(caller, rows).json() == {
        "conversation": "main",
        "messages": [
            {"id": "1", "role": "user", "text": "hi \u2028 😀", "at": "1970-01-01T00:00:00Z"}
        ],
    }


def test_of_a_long_history_the_newest_come(caller, monkeypatch):
    rows = [{"id": at, "role": "user", "content": f"word {at}"} for at in range(1500)]

    found = history(caller, {"data": rows}).json()["messages"]

    assert (len(found), found[0]["text"], found[-1]["text"]) == (1000, "word 500", "word 1499")


def test_a_flood_is_refused_and_named(caller):
    answer = history(caller, {"data": [], "more": "x" * (9 * 1024 * 1024)})

    assert (answer.status_code, answer.json()["code"]) == (502, "agent_refused")
    assert "longer than we read" in answer.json()["message"]


@pytest.mark.parametrize("rows", [[], {"data": 7}, {"data": [{"id": 1, "role": ["user"]}]}])
def test_an_odd_answer_is_the_agents_fault(caller, rows):
    answer = history(caller, rows)

    assert (answer.status_code, answer.json()["code"]) == (502, "agent_refused")


def test_half_a_letter_does_not_break_the_answer(caller):
    answer = history(caller, {"data": [{"id": 1, "role": "user", "content": "a\ud800b"}]})

    assert answer.json()["messages"][0]["text"] == "a?b"


def test_an_impossible_conversation_is_not_asked_for(caller):
    answer = history(caller, {"data": []}, conversation="x" * 201)

    assert (answer.status_code, answer.json()["code"]) == (404, "conversation_not_found")


def test_an_agent_that_drips_its_history_is_given_up(caller, monkeypatch):
    monkeypatch.setattr(chat, "PATIENCE", 0.3)

    async def ask():
        async with serving(drip, ADDRESS, PORT), asyncio.timeout(10):
            return await caller.get("history", "messages")

    answer = asyncio.run(ask())
    assert (answer.status_code, answer.json()["code"]) == (502, "agent_unreachable")


@pytest.mark.parametrize(
    "body", [b"[]", b'{"text": 7}', b'{"text": "\\ud800"}', b'{"text": "a", "conversation": 1}',
             b'{"text": "a", "conversation": "\\ud800"}', b"[" * 50_000, b'{"text": ""}', b"\xff"]
)  # fmt: skip
def test_a_broken_message_is_refused(caller, body):
    async def ask():
        async with caller.visit("chat", "messages", body=body) as visit:
            said = json.loads(await visit.line())
            return visit.status, said["code"]

    assert asyncio.run(ask()) == (400, "broken_body")


@pytest.mark.parametrize("how", ["left", "cancelled"])
def test_who_leaves_a_turn_leaves_no_line_to_the_agent_behind(caller, how):
    async def ask():
        async with (
            answering() as agent,
            caller.visit("chat", "messages", body=HELLO) as visit,
        ):
            word = json.loads(await visit.line())
            assert not agent.left.is_set()
            if how == "left":
                visit.leave()
            else:
                visit.task.cancel()
            async with asyncio.timeout(5):
                await asyncio.wait([visit.task])
                await agent.left.wait()
            others = asyncio.all_tasks() - {asyncio.current_task(), visit.task}
            return word, [task for task in others if "serve" not in repr(task)]

    word, others = asyncio.run(ask())
    assert word == {"type": "delta", "text": "Good "}
    assert others == []


def test_an_error_of_ours_is_told_in_a_sentence(caller, talking):
    Agent.objects.filter(pk=talking.pk).update(runtime="nobody")

    answer = history(caller, {"data": []})

    assert (answer.status_code, answer.json()["code"]) == (502, "gateway_failed")
    assert "error of its own" in answer.json()["message"]


def test_an_error_of_ours_in_a_turn_is_told_and_logged(caller, monkeypatch, caplog):
    monkeypatch.setattr(chat, "NAMES", {Failed: "failed"})  # it cannot name a word

    async def ask():
        async with answering(), caller.visit("chat", "messages", body=HELLO) as visit:
            return json.loads(await visit.line())

    with caplog.at_level(logging.ERROR):
        said = asyncio.run(ask())
    assert (said["type"], said["code"]) == ("failed", "gateway_failed")
    assert "KeyError" in caplog.text
