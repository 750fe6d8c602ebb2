"""Talking to an agent through the API: whole, word by word, and never twice."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from asgiref.sync import async_to_sync
from django.db import connection

from controlplane.agents.api.streams import CUT_OFF
from controlplane.api.models import IdempotencyRecord
from tests.controlplane.agents.gateways import DONE, FakeGateway, serving

# What is kept for a retry is written by another thread than the request's.
pytestmark = pytest.mark.django_db(transaction=True)

ONCE = {"Idempotency-Key": "say-it-once"}
STREAM = {"Accept": "text/event-stream"}
REFUSED = {"code": "agent_not_running", "message": "scout is stopped. Start it first."}


@pytest.fixture
def gateway(settings):
    fake = FakeGateway()
    with serving(fake) as settings.GATEWAY_URL:
        yield fake


@pytest.fixture
def say(alice_api, agent):
    path = f"/api/v1/orgs/{agent.organisation_id}/agents/{agent.pk}/messages"

    def ask(text="Good morning", headers=None, **body):
        return alice_api.post(path, {"text": text, **body}, "json", headers=headers or {})

    return ask


def events(response):
    """What a stream said: (event, data)."""

    async def read():
        return "".join([part.decode() async for part in response.streaming_content])

    parts = [part.split("\n") for part in async_to_sync(read)().split("\n\n") if part]
    return [(name[7:], json.loads(data[6:])) for name, data in parts]


def test_an_answer_comes_whole(gateway, say):
    response = say()

    assert response.status_code == 200
    assert response.json() == {"conversation": "main", "text": "Hello"}
    assert gateway.heard == ["Good morning"]


def test_an_answer_comes_word_by_word(gateway, say):
    response = say(headers=STREAM)

    assert response["Content-Type"] == "text/event-stream"
    assert events(response) == [
        ("delta", {"text": "He"}),
        ("delta", {"text": "llo"}),
        ("completed", {"conversation": "main", "text": "Hello"}),
    ]


@pytest.mark.parametrize("text", ["a\u2028b\u2029c\x85d\x0b\x1c", "line\nbreak", "🐓", "\u0000"])
def test_no_letter_tears_an_answer_apart(gateway, say, text):
    gateway.says = [{"type": "completed", "conversation": "main", "text": text}]

    assert say().json()["text"] == text
    assert events(say(headers=STREAM))[0][1]["text"] == text


@pytest.mark.parametrize("text", ["", " \n\t ", "a" * 100_001, 7, None, ["hello"], "a\x00b"])
def test_what_is_no_message_is_not_said(gateway, say, text):
    assert say(text).status_code == 422
    assert gateway.heard == []


def test_a_refusal_of_the_gateway_is_told_with_its_code(gateway, say):
    gateway.status, gateway.says = 409, [REFUSED]

    response = say()

    assert (response.status_code, response.json()["code"]) == (409, "agent_not_running")
    assert response.json()["detail"] == REFUSED["message"]
    assert events(say(headers=STREAM)) == [("failed", REFUSED)]


@pytest.mark.parametrize(("status", "says"), [(500, ["oops"]), (502, []), (404, [{}])])
def test_a_gateway_that_talks_nonsense_is_away(gateway, say, status, says):
    gateway.status, gateway.says = status, says

    assert (say().status_code, say().json()["code"]) == (503, "gateway_unavailable")


def test_an_answer_that_is_cut_off_is_told_so(gateway, say):
    gateway.says, gateway.cut = DONE[:1], True

    assert say().json()["detail"] == CUT_OFF
    assert events(say(headers=STREAM))[-1][1]["message"] == CUT_OFF


def test_an_agent_that_fails_says_why(gateway, say):
    gateway.says = [{"type": "failed", "code": "model_refused", "message": "No credit left."}]

    response = say()

    assert (response.status_code, response.json()["code"]) == (502, "model_refused")
    assert response.json()["detail"] == "No credit left."


# --- once


def test_a_retry_gets_the_answer_and_says_nothing(gateway, say):
    first, again = say(headers=ONCE), say(headers=ONCE)

    assert first.json() == again.json() == {"conversation": "main", "text": "Hello"}
    assert gateway.heard == ["Good morning"]


def test_a_stream_that_is_asked_again_is_answered_in_one_piece(gateway, say):
    events(say(headers=ONCE | STREAM))

    assert events(say(headers=ONCE | STREAM)) == [
        ("completed", {"conversation": "main", "text": "Hello"})
    ]
    assert say(headers=ONCE).json()["text"] == "Hello"
    assert len(gateway.heard) == 1


def test_another_message_needs_another_key(gateway, say):
    say(headers=ONCE)

    assert say("Good night", headers=ONCE).json()["code"] == "idempotency_key_reused"
    assert len(gateway.heard) == 1


def test_a_failure_of_the_agent_is_an_answer_too(gateway, say):
    gateway.says = [{"type": "failed", "code": "model_refused", "message": "No credit left."}]
    first, again = say(headers=ONCE), say(headers=ONCE)

    assert [first.status_code, again.status_code] == [502, 502]
    assert first.json()["detail"] == again.json()["detail"] == "No credit left."
    assert len(gateway.heard) == 1


def test_what_was_cut_off_is_not_said_again(gateway, say):
    gateway.says, gateway.cut = DONE[:1], True
    first, again = say(headers=ONCE), say(headers=ONCE)

    assert [first.status_code, again.status_code] == [503, 503]
    assert again.json()["detail"] == CUT_OFF
    assert len(gateway.heard) == 1


def test_what_was_refused_may_be_said_again(gateway, say):
    gateway.status, gateway.says = 409, [REFUSED]
    assert say(headers=ONCE).status_code == 409
    gateway.status, gateway.says = 200, DONE

    assert say(headers=ONCE).json()["text"] == "Hello"


def test_what_nobody_heard_may_be_said_again(gateway, say, settings):
    there, settings.GATEWAY_URL = settings.GATEWAY_URL, "http://127.0.0.1:1"
    assert say(headers=ONCE).status_code == 503
    settings.GATEWAY_URL = there

    assert say(headers=ONCE).json()["text"] == "Hello"
    assert gateway.heard == ["Good morning"]


def test_an_impossible_message_uses_no_key_up(gateway, say):
    assert say("", headers=ONCE).status_code == 422
    assert not IdempotencyRecord.objects.exists()


def test_who_left_in_the_middle_does_not_say_it_again(gateway, say):
    async def first_word(response):
        words = aiter(response.streaming_content)
        word = await anext(words)
        await words.aclose()
        return word

    assert b"He" in async_to_sync(first_word)(say(headers=ONCE | STREAM))
    again = say(headers=ONCE | STREAM)

    assert (again.status_code, again.json()["code"]) == (409, "idempotency_in_progress")
    assert len(gateway.heard) == 1


def test_ten_at_once_say_it_once(gateway, say):
    gateway.hold = threading.Event()

    def send(at):
        try:
            return say(headers=ONCE)
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as threads:
        first = threads.submit(send, 0)
        assert gateway.reached.wait(10)
        others = list(threads.map(send, range(9)))
        gateway.hold.set()

    assert {other.json()["code"] for other in others} == {"idempotency_in_progress"}
    assert first.result().json()["text"] == "Hello"
    assert say(headers=ONCE).json()["text"] == "Hello"
    assert gateway.heard == ["Good morning"]


# --- reading


def test_history_and_conversations_are_passed_on(gateway, alice_api, agent):
    path = f"/api/v1/orgs/{agent.organisation_id}/agents/{agent.pk}"
    gateway.says = [{"conversation": None, "messages": [], "conversations": []}]

    assert alice_api.get(f"{path}/messages", {"conversation": "a b/c?d"}).json()["messages"] == []
    assert alice_api.get(f"{path}/conversations").json() == {"conversations": []}
    assert gateway.asked[0].endswith("/messages?conversation=a+b%2Fc%3Fd")


def test_of_a_history_the_newest_can_be_asked_for(gateway, alice_api, agent):
    path = f"/api/v1/orgs/{agent.organisation_id}/agents/{agent.pk}/messages"
    said = [{"id": str(at), "role": "user", "text": "hi", "at": None} for at in range(5)]
    gateway.says = [{"conversation": "main", "messages": said}]

    assert alice_api.get(path, {"limit": 2}).json()["messages"] == said[-2:]
    assert alice_api.get(path).json()["messages"] == said


@pytest.mark.parametrize("query", ["conversation=nope", "limit=1", "x"])
def test_a_message_is_not_said_where_its_address_asks_for_something(
    gateway, alice_api, agent, query
):
    path = f"/api/v1/orgs/{agent.organisation_id}/agents/{agent.pk}/messages?{query}"
    response = alice_api.post(path, {"text": "hi"}, "json")

    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == query.partition("=")[0]
    assert "in the body" in response.json()["detail"]
    assert gateway.heard == []


def test_log_lines_are_passed_on(gateway, alice_api, agent):
    path = f"/api/v1/orgs/{agent.organisation_id}/agents/{agent.pk}/logs"
    line = {"at": "2026-01-01T00:00:00.000000001Z", "text": "up"}
    gateway.says = [line, {"mark": "Container replaced."}]

    assert alice_api.get(path).json() == {"lines": [line]}
    assert events_with_ids(alice_api.get(path, headers=STREAM)) == ["line", "mark"]


def events_with_ids(response):
    async def read():
        return "".join([part.decode() async for part in response.streaming_content])

    said = async_to_sync(read)()
    return [line[7:] for line in said.split("\n") if line.startswith("event: ")]
