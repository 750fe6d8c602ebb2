"""The adapter against the host as it answers."""

from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from runtimes.adapter import (
    ChatEvent,
    Completed,
    ConversationNotFound,
    Delta,
    Endpoint,
    Failed,
    Investigator,
    Message,
    RuntimeRefused,
    RuntimeUnreachable,
    ToolUse,
)
from runtimes.opensre.adapter import adapter
from runtimes.opensre.host import engine, events
from tests.runtimes.fake_opensre import ENDPOINT, FakeOpenSRE, Hosted, answering, hosted

pytestmark = pytest.mark.anyio
ALERT = {"alert_name": "Checkout is slow"}


async def say(
    there: Hosted, text: str = "hello", conversation: str | None = None
) -> list[ChatEvent]:
    return [event async for event in adapter.stream(there.client, ENDPOINT, text, conversation)]


async def investigate(there: Hosted) -> list[ChatEvent]:
    return [event async for event in adapter.investigate(there.client, ENDPOINT, ALERT)]


async def test_an_answer_arrives_piece_by_piece_and_ends_whole(tmp_path: Path) -> None:
    steps = [
        events.ToolUse("query_logs", "started", "5xx"),
        events.Delta("Good\u2028day."),
        engine.Answer("Good\u2028day."),
    ]
    async with hosted(tmp_path, FakeOpenSRE(*steps)) as there:
        assert await say(there) == [
            ToolUse("query_logs", "started", "5xx"),
            Delta("Good\u2028day."),
            Completed("main", "Good\u2028day."),
        ]


async def test_the_main_conversation_is_the_same_one_after_a_restart(tmp_path: Path) -> None:
    for _ in range(2):
        async with hosted(tmp_path) as there:
            await say(there)
    async with hosted(tmp_path) as there:
        (main,) = await adapter.conversations(there.client, ENDPOINT)
    assert (main.id, main.title, main.messages) == ("main", "Main", 4)
    assert main.updated_at is not None
    assert main.updated_at <= datetime.now(UTC)


async def test_reading_does_not_make_the_main_conversation(tmp_path: Path) -> None:
    async with hosted(tmp_path) as there:
        assert await adapter.history(there.client, ENDPOINT) == []
        assert await adapter.conversations(there.client, ENDPOINT) == []


async def test_the_history_is_what_was_said(tmp_path: Path) -> None:
    async with hosted(tmp_path, answering("Good day.")) as there:
        await say(there)
        first, second = await adapter.history(there.client, ENDPOINT)
    assert first == Message("1", "user", "hello", first.at)
    assert second == Message("2", "assistant", "Good day.", second.at)


@pytest.mark.parametrize("conversation", ["plans", "", "../ok", "a/b?c#d"])
async def test_an_unknown_conversation_is_not_found(tmp_path: Path, conversation: str) -> None:
    async with hosted(tmp_path) as there:
        with pytest.raises(ConversationNotFound):
            await adapter.history(there.client, ENDPOINT, conversation)
        with pytest.raises(ConversationNotFound):
            await say(there, "hello", conversation)


async def test_a_failed_turn_is_a_failure(tmp_path: Path) -> None:
    async with hosted(tmp_path, FakeOpenSRE(RuntimeError("no"))) as there:
        assert await say(there) == [Failed("turn_failed", "RuntimeError: no")]


async def test_a_wrong_token_is_refused(tmp_path: Path) -> None:
    wrong = Endpoint(ENDPOINT.base_url, "wrong")
    async with hosted(tmp_path) as there:
        with pytest.raises(RuntimeRefused, match="missing or wrong"):
            await adapter.conversations(there.client, wrong)


async def test_an_answer_cut_off_is_unreachable_not_complete() -> None:
    half = 'event: delta\ndata: {"text": "half"}\n\n'
    transport = httpx.MockTransport(lambda request: httpx.Response(200, text=half))
    async with httpx.AsyncClient(transport=transport) as client:
        heard = adapter.stream(client, ENDPOINT, "hello")
        assert await anext(heard) == Delta("half")
        with pytest.raises(RuntimeUnreachable, match="in the middle"):
            await anext(heard)


async def test_a_host_that_is_not_there_is_unreachable() -> None:
    def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    async with httpx.AsyncClient(transport=httpx.MockTransport(gone)) as client:
        with pytest.raises(RuntimeUnreachable, match="ConnectError"):
            await adapter.investigations(client, ENDPOINT)


def test_it_can_investigate() -> None:
    assert isinstance(adapter, Investigator)


async def test_an_investigation_ends_with_its_report_and_its_id(tmp_path: Path) -> None:
    steps = [events.ToolUse("diagnose", "started", ""), engine.Finding("The disk.", "# Report")]
    async with hosted(tmp_path, FakeOpenSRE(*steps)) as there:
        step, done = await investigate(there)
        assert step == ToolUse("diagnose", "started", "")
        assert isinstance(done, Completed)
        assert done.text == "# Report"
        found = await adapter.investigation(there.client, ENDPOINT, done.conversation)
        assert (found.title, found.root_cause) == ("Checkout is slow", "The disk.")
        assert found.report == "# Report"


async def test_the_list_has_the_newest_first_and_no_reports(tmp_path: Path) -> None:
    async with hosted(tmp_path, FakeOpenSRE(engine.Finding("One.", "# 1"))) as there:
        await investigate(there)
        there.engine.steps = [engine.Finding("Two.", "# 2")]
        await investigate(there)
        found = await adapter.investigations(there.client, ENDPOINT)
    assert [(one.root_cause, one.report) for one in found] == [("Two.", ""), ("One.", "")]


async def test_an_interrupted_investigation_is_listed_as_such(tmp_path: Path) -> None:
    async with hosted(tmp_path) as there:
        there.store.begin("inv_1", "Down", "Investigate this")
        assert await adapter.investigations(there.client, ENDPOINT) == []
        there.store.interrupt()
        (found,) = await adapter.investigations(there.client, ENDPOINT)
        whole = await adapter.investigation(there.client, ENDPOINT, "inv_1")
    assert found.root_cause.startswith("Interrupted: ")
    assert whole.report == found.root_cause


async def test_an_unknown_investigation_is_not_found(tmp_path: Path) -> None:
    async with hosted(tmp_path) as there:
        with pytest.raises(ConversationNotFound):
            await adapter.investigation(there.client, ENDPOINT, "inv_2")
