"""Chat and logs, in front of a gateway that answers, refuses, or is away."""

import json
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client

from controlplane.agents.models import Agent
from controlplane.tenants.models import User

SCRIPT = "<script>alert(1)</script>"
CHAT = "/acme/agents/heron/chat"
LOGS = "/acme/agents/heron/logs"


def said(role: str, text: str) -> dict[str, Any]:
    return {"id": "1", "role": role, "text": text, "at": "2026-11-30T07:28:00+00:00"}


def history(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"conversation": "main", "messages": list(messages)}


def heard(user: User, address: str, data: dict[str, str] | None = None) -> str:
    """What a stream says until it ends."""

    async def listen() -> str:
        client = AsyncClient()
        await client.aforce_login(user, "django.contrib.auth.backends.ModelBackend")
        response = await client.post(address, data, headers={"Accept": "text/event-stream"})
        assert response["Content-Type"] == "text/event-stream"
        return b"".join([part async for part in response]).decode()

    return async_to_sync(listen)()


def test_a_conversation_is_shown_with_its_tools(
    alice_web: Client, agent: Agent, gateway: Any
) -> None:
    messages = [said("user", "Where?"), said("tool", "held"), said("assistant", "In **Kiel**.")]
    gateway.says = {
        "conversations": {
            "conversations": [{"id": "main", "title": "Main", "updated_at": None, "messages": 3}]
        },
        "messages": history(*messages),
    }

    page = alice_web.get(CHAT).content.decode()

    assert "<strong>Kiel</strong>" in page
    assert "A tool answered" in page
    assert "3 messages" in page


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_words_from_elsewhere_are_text(
    alice_web: Client, agent: Agent, gateway: Any, role: str
) -> None:
    talk = {"id": "x", "title": SCRIPT, "updated_at": None, "messages": 1}
    words = history(said(role, SCRIPT), said("assistant", f"{SCRIPT} [a](javascript:alert(1))"))
    gateway.says = {"conversations": {"conversations": [talk]}, "messages": words}

    page = alice_web.get(CHAT).content.decode()

    assert "<script>alert" not in page
    assert 'href="javascript' not in page
    assert "&lt;script&gt;" in page


def test_a_page_has_the_newest_of_a_long_conversation(
    alice_web: Client, agent: Agent, gateway: Any
) -> None:
    messages = [said("assistant", f"word-{at}.") for at in range(230)]
    gateway.says = {"conversations": {"conversations": []}, "messages": history(*messages)}

    page = alice_web.get(CHAT).content.decode()

    assert page.count("word-") == 200
    assert "word-229." in page
    assert "30 older messages are not shown here." in page


def test_a_gateway_that_is_away_leaves_the_page_usable(
    alice_web: Client, agent: Agent, settings: Any
) -> None:
    settings.GATEWAY_URL = "http://127.0.0.1:1"

    response = alice_web.get(CHAT)

    assert response.status_code == 200
    assert "We cannot reach heron right now." in response.content.decode()
    assert "<textarea" in response.content.decode()


def test_a_stopped_agent_offers_to_be_started(
    alice_web: Client, agent: Agent, gateway: Any
) -> None:
    Agent.objects.update(status="stopped", observed_generation=1)
    problem = {"code": "agent_not_running", "message": "heron is stopped."}
    gateway.says = {"conversations": (409, problem), "messages": (409, problem)}

    page = alice_web.get(CHAT).content.decode()

    assert "heron is stopped." in page
    assert "/acme/agents/heron/start" in page


def test_a_conversation_that_is_not_there_is_404(
    alice_web: Client, agent: Agent, gateway: Any
) -> None:
    problem = {"code": "conversation_not_found", "message": "There is none."}
    gateway.says = {"conversations": {"conversations": []}, "messages": (404, problem)}

    assert alice_web.get(f"{CHAT}?c=nope").status_code == 404


def test_an_answer_comes_as_clean_html(alice: User, agent: Agent, gateway: Any) -> None:
    gateway.says["stream"] = [
        {"type": "tool", "name": "look", "state": "started", "detail": SCRIPT},
        {"type": "tool", "name": "look", "state": "completed", "detail": ""},
        {"type": "delta", "text": "In **Kiel**"},
        {"type": "completed", "conversation": "main", "text": f"In **Kiel**. {SCRIPT}"},
    ]

    events = heard(alice, CHAT, {"text": "Where?", "conversation": ""})

    assert "event: conversation\ndata: main" in events
    assert "event: done" in events
    assert "<strong>Kiel</strong>" in events
    assert "<script>" not in events
    assert json.loads(gateway.asked[0][1]) == {"text": "Where?", "conversation": None}


@pytest.mark.parametrize(
    "says",
    [
        [{"type": "failed", "code": "runtime_error", "message": "The key is refused."}],
        [{"type": "delta", "text": "In "}],
        (409, {"code": "agent_not_running", "message": "heron is stopped."}),
        (503, {"code": "gone", "message": "The node is away."}),
    ],
)
def test_no_answer_is_said_and_the_stream_ends(
    alice: User, agent: Agent, gateway: Any, says: Any
) -> None:
    gateway.says["stream"] = says

    events = heard(alice, CHAT, {"text": "Where?"})

    assert events.count("event: failed") == 1
    assert "No answer." in events
    assert "event: done" not in events


REFUSED = {"type": "failed", "code": "model_key_refused", "message": "HTTP 401."}


def test_a_refused_key_leads_to_the_keys(alice: User, agent: Agent, gateway: Any) -> None:
    gateway.says["stream"] = [REFUSED]

    assert 'href="/acme/keys"' in heard(alice, CHAT, {"text": "Where?"})


def test_without_a_script_a_refused_key_leads_to_the_keys(
    alice_web: Client, agent: Agent, gateway: Any
) -> None:
    gateway.says |= {"conversations": {"conversations": []}, "messages": history()}
    gateway.says["stream"] = [REFUSED]

    page = alice_web.post(CHAT, {"text": "Where?"}).content.decode()

    assert 'href="/acme/keys">' in page.split("<b>No answer: HTTP 401.")[1].split("</div>")[0]


def test_another_failure_leads_nowhere(alice: User, agent: Agent, gateway: Any) -> None:
    gateway.says["stream"] = [REFUSED | {"code": "turn_failed"}]

    assert "/acme/keys" not in heard(alice, CHAT, {"text": "Where?"})


def test_without_a_script_the_answer_is_waited_for(
    alice_web: Client, agent: Agent, gateway: Any
) -> None:
    gateway.says["stream"] = [{"type": "completed", "conversation": "main", "text": "Kiel"}]

    response = alice_web.post(CHAT, {"text": "Where?"})

    assert (response.status_code, response["Location"]) == (303, f"{CHAT}#end")


def test_without_a_script_a_failed_message_is_kept(
    alice_web: Client, agent: Agent, gateway: Any
) -> None:
    gateway.says["stream"] = [{"type": "failed", "code": "x", "message": "The key is refused."}]
    gateway.says |= {"conversations": {"conversations": []}, "messages": history()}

    response = alice_web.post(CHAT, {"text": "Where is it?"})

    assert response.status_code == 502
    assert "The key is refused." in response.content.decode()
    assert "Where is it?</textarea>" in response.content.decode()


@pytest.mark.parametrize("text", ["", "   ", "x" * 100_001])
def test_nothing_and_too_much_are_not_sent(
    alice_web: Client, agent: Agent, gateway: Any, text: str
) -> None:
    gateway.says = {"conversations": {"conversations": []}, "messages": history()}

    response = alice_web.post(CHAT, {"text": text})

    assert response.status_code == 422
    assert not any("POST" in path for path, _ in gateway.asked)


def test_log_lines_are_text_with_a_level(alice_web: Client, agent: Agent, gateway: Any) -> None:
    gateway.says["logs"] = [
        {"at": "2026-11-30T07:20:16.123456789Z", "text": f"\x1b[31mERROR {SCRIPT}\x1b[0m"},
        {"mark": f"Container replaced {SCRIPT}"},
    ]

    page = alice_web.get(LOGS).content.decode()

    assert "<script>alert" not in page
    assert 'data-level="error"' in page
    assert ">07:20:16.123</time>" in page
    assert 'data-since="2026-11-30T07:20:16.123456789Z"' in page


def test_logs_say_why_there_are_none(alice_web: Client, agent: Agent, settings: Any) -> None:
    settings.GATEWAY_URL = "http://127.0.0.1:1"

    response = alice_web.get(LOGS)

    assert response.status_code == 200
    assert "The gateway cannot be reached" in response.content.decode()


def test_a_log_can_be_taken_along(alice: User, agent: Agent, gateway: Any) -> None:
    gateway.says["logs"] = [{"at": "2026-11-30T07:20:16Z", "text": "hello"}, {"mark": "new"}]

    async def take() -> tuple[str, str]:
        client = AsyncClient()
        await client.aforce_login(alice, "django.contrib.auth.backends.ModelBackend")
        response = await client.get(f"{LOGS}/download")
        body = b"".join([part async for part in response]).decode()
        return response["Content-Disposition"], body

    disposition, body = async_to_sync(take)()
    assert disposition == 'attachment; filename="heron.log"'
    assert body == "2026-11-30T07:20:16Z hello\n-- new\n"
