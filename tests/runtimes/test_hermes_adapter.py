"""The adapter against Hermes' API as it answers."""

from datetime import UTC, datetime

import httpx
import pytest

from runtimes.adapter import (
    CHECK,
    ChatEvent,
    Checker,
    Completed,
    Conversation,
    ConversationNotFound,
    Delta,
    Endpoint,
    Failed,
    RuntimeRefused,
    RuntimeUnreachable,
    ToolUse,
)
from runtimes.hermes.adapter import adapter
from tests.runtimes.fake_hermes import ENDPOINT, TOKEN, FakeHermes

pytestmark = pytest.mark.anyio


async def say(
    hermes: FakeHermes, text: str = "hello", conversation: str | None = None
) -> list[ChatEvent]:
    async with hermes.client() as client:
        return [event async for event in adapter.stream(client, ENDPOINT, text, conversation)]


async def test_an_answer_arrives_piece_by_piece_and_ends_whole() -> None:
    hermes = FakeHermes()
    hermes.answers("Good ", "day.")
    events = await say(hermes)
    assert events == [Delta("Good "), Delta("day."), Completed("main", "Good day.")]


async def test_the_main_conversation_is_made_once() -> None:
    hermes = FakeHermes()
    hermes.answers("yes")
    await say(hermes, "one")
    await say(hermes, "two")
    assert hermes.sessions == {"main": {"id": "main", "title": "Main"}}
    assert hermes.said == [("main", "one"), ("main", "two")]


async def test_the_main_conversation_does_without_its_title_when_that_is_taken() -> None:
    hermes = FakeHermes()
    hermes.sessions["other"] = {"id": "other", "title": "Main"}
    hermes.answers("yes")
    await say(hermes)
    assert hermes.sessions["main"]["title"] is None


async def test_another_conversation_is_spoken_to_by_its_id() -> None:
    hermes = FakeHermes()
    hermes.sessions["plans"] = {"id": "plans"}
    hermes.answers("yes")
    await say(hermes, "hello", "plans")
    assert hermes.said == [("plans", "hello")]
    assert "main" not in hermes.sessions


async def test_tools_are_told_with_their_state() -> None:
    hermes = FakeHermes()
    hermes.answers("done")
    tool = {"tool_name": "terminal", "preview": "ls", "args": {}}
    hermes.turn[1:1] = [("tool.started", tool), ("tool.failed", {**tool, "preview": None})]
    events = await say(hermes)
    assert events[:2] == [
        ToolUse("terminal", "started", "ls"),
        ToolUse("terminal", "completed", ""),
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("HTTP 401: invalid x-api-key", "model_key_refused"),
        ("API call failed after 3 retries: HTTP 429: slow down", "model_rate_limited"),
        ("API call failed after 3 retries: HTTP 503: busy", "model_failed"),
        ("API call failed after 3 retries: Connection error.", "turn_failed"),
    ],
)
async def test_an_error_in_the_place_of_an_answer_is_a_failure(text: str, code: str) -> None:
    hermes = FakeHermes()
    hermes.fails(text)
    assert await say(hermes) == [Failed(code, text)]


async def test_an_answer_that_speaks_of_an_error_is_an_answer() -> None:
    hermes = FakeHermes()
    hermes.answers("HTTP 401: means unauthorised")
    assert isinstance((await say(hermes))[-1], Completed)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("The codeword is ghp_abcdefghij0123456789", "The codeword is ghp_ab...6789"),
        ("sk-ant-api03-abcdefghijklmnopqrstuvwxyz", "sk-ant...wxyz"),
        ("password: hunter2 PASSWORD=hunter2 ", "password: *** PASSWORD=***"),
        ("-----BEGIN PRIVATE KEY-----\nMII\n-----END", "[REDACTED PRIVATE KEY]"),
        ("call +14155552671 ... now", "call +141****2671 ... now"),
    ],
)
async def test_an_answer_hermes_blacks_out_for_its_own_history_is_an_answer(
    text: str, kept: str
) -> None:
    hermes = FakeHermes()
    hermes.answers(text, transcript=[{"role": "assistant", "content": kept}])
    assert await say(hermes) == [Delta(text), Completed("main", text)]


@pytest.mark.parametrize("earlier", ["...", "***", "Let me see...", "HTTP 429 ... fine", "a***a"])
async def test_an_earlier_answer_is_not_taken_for_the_error_after_it(earlier: str) -> None:
    hermes = FakeHermes()
    text = "API call failed after 3 retries: HTTP 429: slow down"
    hermes.answers(text, transcript=[{"role": "assistant", "content": earlier}])
    assert (await say(hermes))[-1] == Failed("model_rate_limited", text)


async def test_an_error_event_is_a_failure() -> None:
    hermes = FakeHermes()
    hermes.turn = [("run.started", {}), ("error", {"message": "No inference provider"})]
    assert await say(hermes) == [Failed("turn_failed", "No inference provider")]


async def test_an_answer_cut_off_is_unreachable_not_complete() -> None:
    hermes = FakeHermes()
    hermes.answers("half")
    del hermes.turn[2:]
    with pytest.raises(RuntimeUnreachable, match="in the middle"):
        await say(hermes)


async def test_a_stream_that_is_not_hermes_is_refused() -> None:
    hermes = FakeHermes()
    hermes.turn = [("assistant.delta", {"nothing": 1})]
    with pytest.raises(RuntimeRefused, match="not what Hermes sends"):
        await say(hermes)


async def test_the_line_separators_of_unicode_do_not_break_an_answer() -> None:
    hermes = FakeHermes()
    hermes.answers("one\u2028two\u0085three")
    assert (await say(hermes))[-1] == Completed("main", "one\u2028two\u0085three")


@pytest.mark.parametrize("conversation", ["nope", "../x", "a/b?c#d"])
async def test_an_unknown_conversation_is_not_found(conversation: str) -> None:
    hermes = FakeHermes()
    with pytest.raises(ConversationNotFound, match="There is no conversation"):
        await say(hermes, "hello", conversation)
    async with hermes.client() as client:
        with pytest.raises(ConversationNotFound):
            await adapter.history(client, ENDPOINT, conversation)
    assert hermes.sessions == {}


async def test_history_holds_what_was_said_oldest_first() -> None:
    hermes = FakeHermes()
    hermes.sessions["main"] = {"id": "main"}
    hermes.messages["main"] = [
        {"id": 1, "role": "user", "content": "hello", "timestamp": 0.5},
        {"id": 2, "role": "assistant", "content": "", "tool_calls": [{}]},
        {"id": 3, "role": "tool", "content": "42"},
        {"id": 4, "role": "system", "content": "inner"},
        {"id": 5, "role": "assistant", "content": [{"type": "text", "text": "good day"}]},
    ]
    async with hermes.client() as client:
        found = await adapter.history(client, ENDPOINT)
    assert [(m.id, m.role, m.text) for m in found] == [
        ("1", "user", "hello"),
        ("3", "tool", "42"),
        ("5", "assistant", "good day"),
    ]
    assert found[0].at == datetime(1970, 1, 1, 0, 0, 0, 500_000, UTC)


async def test_history_before_the_first_word_is_empty_and_makes_nothing() -> None:
    hermes = FakeHermes()
    async with hermes.client() as client:
        assert await adapter.history(client, ENDPOINT) == []
    assert hermes.sessions == {}


async def test_conversations_are_read_page_by_page() -> None:
    hermes = FakeHermes()
    for number in range(201):
        hermes.sessions[f"s{number}"] = {"id": f"s{number}", "preview": "hi", "last_active": 60}
    async with hermes.client() as client:
        found = await adapter.conversations(client, ENDPOINT)
    assert len(found) == 201
    assert found[0] == Conversation("s0", "hi", datetime(1970, 1, 1, 0, 1, tzinfo=UTC), None)


async def test_a_wrong_token_is_refused_with_the_runtimes_words() -> None:
    async with FakeHermes().client() as client:
        with pytest.raises(RuntimeRefused, match="401: Invalid API key") as caught:
            await adapter.conversations(client, Endpoint(ENDPOINT.base_url, "wrong"))
    assert caught.value.status == 401


@pytest.mark.parametrize("problem", [httpx.ConnectError("no"), httpx.ReadTimeout("no")])
async def test_a_runtime_that_does_not_answer_is_unreachable(problem: httpx.HTTPError) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise problem

    async with httpx.AsyncClient(transport=httpx.MockTransport(refuse)) as client:
        with pytest.raises(RuntimeUnreachable):
            await adapter.history(client, ENDPOINT)


def test_an_endpoint_does_not_show_its_token() -> None:
    assert TOKEN not in repr(ENDPOINT)


async def test_a_check_has_a_conversation_of_its_own_and_is_made_once() -> None:
    hermes = FakeHermes()
    hermes.answers("ok")
    for _ in range(2):
        async with hermes.client() as client:
            events = [event async for event in adapter.check(client, ENDPOINT, "there?")]
    assert isinstance(events[-1], Completed)
    assert events[-1].text == "ok"
    assert hermes.said == [(CHECK, "there?")] * 2
    assert list(hermes.sessions) == [CHECK]
    assert isinstance(adapter, Checker)
