"""The adapter against OpenClaw's API as it answers."""

from datetime import UTC, datetime

import pytest

from runtimes.adapter import (
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
from runtimes.openclaw import answering
from runtimes.openclaw.adapter import adapter
from tests.runtimes.fake_openclaw import (
    BEGAN,
    ENDPOINT,
    MAIN,
    FakeOpenClaw,
    asked,
    called,
    chunk,
    result,
)

pytestmark = pytest.mark.anyio
RECOVERY = {"kind": "internal_system", "sourceTool": "main_session_restart_recovery"}


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "PAUSE_S", 0.01)


async def say(
    openclaw: FakeOpenClaw, text: str = "hello", conversation: str | None = None
) -> list[ChatEvent]:
    async with openclaw.client() as client:
        return [event async for event in adapter.stream(client, ENDPOINT, text, conversation)]


async def test_an_answer_arrives_piece_by_piece_and_ends_whole() -> None:
    openclaw = FakeOpenClaw()
    openclaw.answers("Good ", "day.")
    events = await say(openclaw)
    assert events == [Delta("Good "), Delta("day."), Completed(MAIN, "Good day.")]


async def test_the_main_conversation_is_the_one_of_the_web_ui() -> None:
    openclaw = FakeOpenClaw()
    openclaw.answers("yes")
    await say(openclaw, "one")
    assert openclaw.said == [("agent:main:main", "one")]


async def test_another_conversation_is_spoken_to_by_its_id() -> None:
    openclaw = FakeOpenClaw()
    openclaw.transcripts["agent:main:dashboard:1"] = []
    openclaw.answers("yes")
    events = await say(openclaw, "hello", "agent:main:dashboard:1")
    assert openclaw.said == [("agent:main:dashboard:1", "hello")]
    assert events[-1] == Completed("agent:main:dashboard:1", "yes")


async def test_the_tools_of_a_turn_are_told_as_its_transcript_grows() -> None:
    openclaw = FakeOpenClaw()
    openclaw.transcripts[MAIN] = []
    openclaw.used = [called("c1", {"command": "ls"}), result("c1", "a b")]
    openclaw.answers("done")
    assert await say(openclaw) == [
        ToolUse("exec", "started", "ls"),
        ToolUse("exec", "completed", ""),
        Delta("done"),
        Completed(MAIN, "done"),
    ]


async def test_the_tools_of_an_earlier_turn_are_not_told_again() -> None:
    openclaw = FakeOpenClaw()
    openclaw.transcripts[MAIN] = [called("c0", {}, "chatcmpl_0"), result("c0", "", "chatcmpl_0")]
    openclaw.used = [{"role": "user", "content": "hello", "__openclaw": {"id": "m1"}}]
    openclaw.answers("done")
    assert await say(openclaw) == [Delta("done"), Completed(MAIN, "done")]


async def test_a_tool_that_was_not_seen_to_end_has_ended_with_its_turn() -> None:
    openclaw = FakeOpenClaw()
    openclaw.transcripts[MAIN] = []
    openclaw.used = [called("c1", {"path": "a", "limit": 3})]
    openclaw.fails("rate_limit_error", "429 slow down")
    assert await say(openclaw) == [
        ToolUse("exec", "started", '{"path": "a", "limit": 3}'),
        ToolUse("exec", "completed", ""),
        Failed("model_rate_limited", "429 slow down"),
    ]


@pytest.mark.parametrize(
    ("kind", "message", "code"),
    [
        ("authentication_error", "401 invalid x-api-key", "model_key_refused"),
        ("permission_error", "This key is revoked.", "model_key_refused"),
        ("rate_limit_error", "429 slow down", "model_rate_limited"),
        ("insufficient_quota", "402 no credit", "model_failed"),
        ("invalid_request_error", "404 no such model", "model_failed"),
        ("api_error", "upstream provider overloaded", "model_failed"),
        ("api_error", "internal error", "turn_failed"),
    ],
)
async def test_a_failed_turn_is_sorted_by_its_type(kind: str, message: str, code: str) -> None:
    openclaw = FakeOpenClaw()
    openclaw.fails(kind, message)
    assert await say(openclaw) == [Failed(code, message)]


async def test_a_turn_refused_while_another_is_recovered_is_asked_for_again() -> None:
    openclaw = FakeOpenClaw()
    openclaw.transcripts[MAIN] = [
        asked("hello", BEGAN - 60),
        asked("[System] Your previous turn was interrupted", BEGAN + 1, provenance=RECOVERY),
    ]
    openclaw.busy = 2
    openclaw.answers("yes")
    assert await say(openclaw) == [Delta("yes"), Completed(MAIN, "yes")]
    assert len(openclaw.said) == 3


async def test_a_turn_that_failed_after_it_began_is_not_asked_for_again() -> None:
    openclaw = FakeOpenClaw()
    openclaw.transcripts[MAIN] = [asked("hello", BEGAN + 1)]
    openclaw.busy = 1
    assert await say(openclaw) == [Failed("turn_failed", "internal error")]
    assert len(openclaw.said) == 1


async def test_nobody_is_asked_for_ever() -> None:
    openclaw = FakeOpenClaw()
    openclaw.busy = 1000
    assert await say(openclaw) == [Failed("turn_failed", "internal error")]
    assert len(openclaw.said) == answering.TRIES


async def test_an_answer_cut_off_is_unreachable_not_complete() -> None:
    openclaw = FakeOpenClaw()
    openclaw.answers("half")
    del openclaw.turn[2:]
    with pytest.raises(RuntimeUnreachable, match="in the middle"):
        await say(openclaw)


async def test_a_stream_that_is_not_openclaw_is_refused() -> None:
    openclaw = FakeOpenClaw()
    openclaw.turn = [{"nothing": 1}]
    with pytest.raises(RuntimeRefused, match="not what OpenClaw sends"):
        await say(openclaw)


async def test_the_line_separators_of_unicode_do_not_break_an_answer() -> None:
    openclaw = FakeOpenClaw()
    openclaw.answers("one\u2028two\u0085three")
    assert (await say(openclaw))[-1] == Completed(MAIN, "one\u2028two\u0085three")


async def test_an_answer_cut_short_by_its_length_is_an_answer() -> None:
    openclaw = FakeOpenClaw()
    openclaw.turn = [chunk({"content": "much"}), chunk({}, "length"), "[DONE]"]
    assert (await say(openclaw))[-1] == Completed(MAIN, "much")


@pytest.mark.parametrize("conversation", ["nope", "../x", "a/b?c#d", "zwölf", "a\nb", " a"])
async def test_an_unknown_conversation_is_not_found_and_not_begun(conversation: str) -> None:
    openclaw = FakeOpenClaw()
    with pytest.raises(ConversationNotFound, match="There is no conversation"):
        await say(openclaw, "hello", conversation)
    async with openclaw.client() as client:
        with pytest.raises(ConversationNotFound):
            await adapter.history(client, ENDPOINT, conversation)
    assert openclaw.transcripts == {}


async def test_history_holds_what_was_said_oldest_first() -> None:
    openclaw = FakeOpenClaw()
    openclaw.transcripts[MAIN] = [
        {"role": "user", "content": "hello", "timestamp": 500, "__openclaw": {"id": "a"}},
        asked("[System] Your previous turn was interrupted", 1, provenance=RECOVERY),
        called("c1", {"command": "ls"}),
        result("c1", "42"),
        {"role": "system", "content": "inner", "__openclaw": {"id": "b"}},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "good"}],
            "__openclaw": {"id": "c"},
        },
    ]
    async with openclaw.client() as client:
        found = await adapter.history(client, ENDPOINT)
    assert [(m.id, m.role, m.text) for m in found] == [
        ("a", "user", "hello"),
        ("r-c1", "tool", "42"),
        ("c", "assistant", "good"),
    ]
    assert found[0].at == datetime(1970, 1, 1, 0, 0, 0, 500_000, UTC)


async def test_history_before_the_first_word_is_empty_and_makes_nothing() -> None:
    openclaw = FakeOpenClaw()
    async with openclaw.client() as client:
        assert await adapter.history(client, ENDPOINT) == []
    assert openclaw.transcripts == {}


async def test_conversations_are_read_page_by_page() -> None:
    openclaw = FakeOpenClaw()
    openclaw.listed = [
        {"key": MAIN, "derivedTitle": "hi", "updatedAt": 60_000},
        *({"key": f"s{number}", "derivedTitle": "hi"} for number in range(200)),
    ]
    async with openclaw.client() as client:
        found = await adapter.conversations(client, ENDPOINT)
    assert len(found) == 201
    assert found[0] == Conversation(MAIN, "Main", datetime(1970, 1, 1, 0, 1, tzinfo=UTC), None)
    assert found[1].title == "hi"


async def test_a_wrong_token_is_refused_with_the_runtimes_words() -> None:
    async with FakeOpenClaw().client() as client:
        with pytest.raises(RuntimeRefused, match="401: The token is wrong") as caught:
            await adapter.conversations(client, Endpoint(ENDPOINT.base_url, "wrong"))
    assert caught.value.status == 401


async def test_closing_a_turn_ends_what_was_begun_for_it() -> None:
    openclaw = FakeOpenClaw()
    openclaw.transcripts[MAIN] = []
    openclaw.used = [called("c1", {"command": "ls"})]
    openclaw.answers("never read")
    async with openclaw.client() as client:
        turn = adapter.stream(client, ENDPOINT, "hello")
        first = await anext(turn)
        await turn.aclose()
    assert first == ToolUse("exec", "started", "ls")


async def test_a_check_has_a_conversation_of_its_own() -> None:
    openclaw = FakeOpenClaw()
    openclaw.answers("ok")
    async with openclaw.client() as client:
        events = [event async for event in adapter.check(client, ENDPOINT, "there?")]
    assert events[-1] == Completed("agent:main:roost-check", "ok")
    assert isinstance(adapter, Checker)
