"""The adapter against Paperclip's API as it answers."""

from datetime import UTC, datetime
from uuid import uuid4

import httpx
import pytest

from runtimes.adapter import (
    ChatEvent,
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
from runtimes.paperclip import adapter as module
from runtimes.paperclip import turn
from runtimes.paperclip.adapter import adapter
from tests.runtimes.fake_paperclip import BASE, LATER, FakePaperclip, logged

pytestmark = pytest.mark.anyio
AT = datetime(2026, 11, 30, 19, 42, 41, 97000, UTC)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE_S", 0.0)
    monkeypatch.setattr(turn, "PAUSE_S", 0.0)
    monkeypatch.setattr(turn, "MOST_WAIT_S", 0.0)
    monkeypatch.setattr(turn, "MOST_WAIT_FOR_RETRY_S", 0.05)


async def say(
    paperclip: FakePaperclip, endpoint: Endpoint, conversation: str | None = None
) -> list[ChatEvent]:
    async with paperclip.client() as client:
        return [event async for event in adapter.stream(client, endpoint, "hello", conversation)]


async def test_the_answer_is_the_comment_of_the_run_the_message_woke() -> None:
    paperclip = FakePaperclip()
    endpoint = paperclip.settled()
    events = await say(paperclip, endpoint)
    (chat,) = paperclip.issues
    assert events == [Delta("Good day."), Completed(chat["id"], "Good day.")]


async def test_an_answer_to_something_else_is_not_taken_for_it() -> None:
    paperclip = FakePaperclip()
    endpoint = paperclip.settled()
    await say(paperclip, endpoint)
    paperclip.comment(paperclip.issues[0]["id"], "agent", "late", createdByRunId=str(uuid4()))
    paperclip.answer = "Second."
    assert (await say(paperclip, endpoint))[-1] == Completed(paperclip.issues[0]["id"], "Second.")


async def test_the_main_conversation_is_made_once() -> None:
    paperclip = FakePaperclip()
    endpoint = paperclip.settled()
    await say(paperclip, endpoint)
    await say(paperclip, endpoint)
    assert len(paperclip.issues) == 1


async def test_a_task_is_spoken_to_by_its_id() -> None:
    paperclip = FakePaperclip()
    endpoint = paperclip.settled()
    task = paperclip.new(paperclip.issues, title="Sort the books")
    assert (await say(paperclip, endpoint, task["id"]))[-1] == Completed(task["id"], "Good day.")
    assert [comment["issueId"] for comment in paperclip.comments] == [task["id"]] * 2


async def test_a_run_may_end_without_a_word() -> None:
    paperclip = FakePaperclip()
    endpoint = paperclip.settled()
    paperclip.answer = ""
    assert await say(paperclip, endpoint) == [Completed(paperclip.issues[0]["id"], "")]


CLAUDE = logged(
    {"type": "assistant", "message": {"content": [
        {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "ls"}}]}},
    {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "1"}]}},
)  # fmt: skip
CODEX = logged(
    {"type": "item.started", "item": {"type": "command_execution", "command": "ls"}},
    {"type": "item.completed", "item": {"type": "command_execution", "command": "ls"}},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "done"}},
)
PI = logged(
    {"type": "tool_execution_start", "toolName": "bash", "args": {"command": "ls"}},
    {"type": "tool_execution_end", "toolName": "bash"},
)


@pytest.mark.parametrize(
    ("log", "name", "after"),
    [(CLAUDE, "Bash", ""), (CODEX, "command_execution", "ls"), (PI, "bash", "")],
    ids=["Claude Code", "Codex", "Pi"],
)
async def test_tools_are_told_with_their_state(log: str, name: str, after: str) -> None:
    paperclip = FakePaperclip()
    endpoint = paperclip.settled()
    paperclip.log = log
    events = await say(paperclip, endpoint)
    assert events[:2] == [ToolUse(name, "started", "ls"), ToolUse(name, "completed", after)]
    assert len(events) == 4


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("Claude run failed: Invalid API key · Fix external API key", "model_key_refused"),
        ("unexpected status 401 Unauthorized: Incorrect API key", "model_key_refused"),
        ("401: Incorrect API key provided.", "model_key_refused"),
        ("API Error: 429 slow down", "model_rate_limited"),
        ("exceeded retry limit, last status: 429 Too Many Requests", "model_rate_limited"),
        ("API Error: 500 Internal server error", "model_failed"),
        ("Adapter failed", "turn_failed"),
    ],
)
async def test_a_failed_run_is_a_failure_with_its_reason(error: str, code: str) -> None:
    paperclip = FakePaperclip()
    endpoint = paperclip.settled()
    paperclip.ending, paperclip.error = "failed", error
    assert await say(paperclip, endpoint) == [Failed(code, error)]


async def test_a_run_without_a_reason_fails_with_what_the_agent_said() -> None:
    paperclip = FakePaperclip()
    endpoint = paperclip.settled()
    paperclip.ending, paperclip.answer = "failed", "API Error: 529 overloaded"
    assert await say(paperclip, endpoint) == [Failed("model_failed", "API Error: 529 overloaded")]


@pytest.mark.parametrize("ending", ["interrupted", "cancelled"])
async def test_an_interrupted_run_says_to_say_it_again(ending: str) -> None:
    paperclip = FakePaperclip()
    endpoint = paperclip.settled()
    paperclip.ending = ending
    (event,) = await say(paperclip, endpoint)
    assert isinstance(event, Failed)
    assert "say it again" in event.message


async def test_a_failure_that_paperclip_itself_gets_over_is_none() -> None:
    paperclip = FakePaperclip()
    endpoint = paperclip.settled()
    paperclip.ending, paperclip.error, paperclip.retries = "failed", "API Error: 529", True
    events = await say(paperclip, endpoint)
    assert events == [Delta("Good day."), Completed(paperclip.issues[0]["id"], "Good day.")]
    assert len(paperclip.runs) == 2


async def test_a_refused_key_is_told_at_once_although_paperclip_tries_again() -> None:
    paperclip = FakePaperclip()
    endpoint = paperclip.settled()
    paperclip.ending, paperclip.error, paperclip.retries = "failed", "Invalid API key", True
    assert await say(paperclip, endpoint) == [Failed("model_key_refused", "Invalid API key")]


async def test_a_message_no_run_takes_up_is_told() -> None:
    paperclip = FakePaperclip()
    endpoint = paperclip.settled()
    paperclip.begin = lambda issue, comment: None  # type: ignore[method-assign]
    (event,) = await say(paperclip, endpoint)
    assert isinstance(event, Failed)
    assert event.message.endswith("for this message. The previous execution holds on.")


async def test_history_holds_what_was_said_oldest_first() -> None:
    paperclip = FakePaperclip()
    endpoint = paperclip.settled()
    await say(paperclip, endpoint)
    chat = paperclip.issues[0]["id"]
    paperclip.comment(chat, "system", "Paperclip's own")
    paperclip.comment(chat, "user", "taken back", deletedAt=LATER)
    async with paperclip.client() as client:
        found = await adapter.history(client, endpoint)
        assert await adapter.main(client, endpoint) == chat
        assert found == await adapter.history(client, endpoint, chat)
    assert [(one.role, one.text, one.at) for one in found] == [
        ("user", "hello", AT),
        ("assistant", "Good day.", AT),
    ]


async def test_history_before_the_first_word_is_empty_and_makes_nothing() -> None:
    paperclip = FakePaperclip()
    endpoint = paperclip.settled()
    async with paperclip.client() as client:
        assert await adapter.history(client, endpoint) == []
        assert await adapter.main(client, endpoint) is None
    assert paperclip.issues == []


async def test_conversations_are_the_chat_and_the_tasks_last_used_first() -> None:
    paperclip = FakePaperclip()
    endpoint = paperclip.settled()
    await say(paperclip, endpoint)
    task = paperclip.new(paperclip.issues, title="Books", lastActivityAt="2027-01-01T00:00:00Z")
    async with paperclip.client() as client:
        found = await adapter.conversations(client, endpoint)
    assert found == [
        Conversation(task["id"], "Books", datetime(2027, 1, 1, tzinfo=UTC), None),
        Conversation(paperclip.issues[0]["id"], "Chat with Assistant", AT, None),
    ]


UNKNOWN = "423a2f9f-1859-4a62-bc8a-1c4f2b77dfbe"


@pytest.mark.parametrize("conversation", [UNKNOWN, "ROO-1", "../x", "a/b?c#d", ""])
async def test_an_unknown_conversation_is_not_found(conversation: str) -> None:
    paperclip = FakePaperclip()
    endpoint = paperclip.settled()
    with pytest.raises(ConversationNotFound, match="There is no conversation"):
        await say(paperclip, endpoint, conversation)
    async with paperclip.client() as client:
        with pytest.raises(ConversationNotFound):
            await adapter.history(client, endpoint, conversation)


async def test_before_its_set_up_it_cannot_be_talked_to() -> None:
    with pytest.raises(RuntimeUnreachable, match="not set up yet"):
        await say(FakePaperclip(), Endpoint(BASE, "g" * 48))


async def test_a_wrong_token_is_refused_with_the_runtimes_words() -> None:
    paperclip = FakePaperclip()
    own = {**paperclip.settled().own, "token": "wrong"}
    with pytest.raises(RuntimeRefused, match="401: Board authentication required"):
        await say(paperclip, Endpoint(BASE, "wrong", own))


@pytest.mark.parametrize("problem", [httpx.ConnectError("no"), httpx.ReadTimeout("no")])
async def test_a_runtime_that_does_not_answer_is_unreachable(problem: httpx.HTTPError) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise problem

    endpoint = FakePaperclip().settled()
    async with httpx.AsyncClient(transport=httpx.MockTransport(refuse)) as client:
        with pytest.raises(RuntimeUnreachable):
            await adapter.history(client, endpoint)


async def test_a_runtime_that_dies_in_the_middle_is_unreachable() -> None:
    paperclip = FakePaperclip()
    endpoint = paperclip.settled()
    paperclip.ending = "running"
    alive = paperclip.poll

    def die(run: dict[str, object]) -> None:
        alive(run)
        raise httpx.ReadError("gone")

    paperclip.poll = die  # type: ignore[method-assign]
    with pytest.raises(RuntimeUnreachable):
        await say(paperclip, endpoint)
