"""What a turn keeps, and what becomes of it when something gives way."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from runtimes.opensre.host.engine import Answer, Finding
from runtimes.opensre.host.events import Completed, Delta, Event, Failed, ToolUse
from runtimes.opensre.host.turns import MOST_TITLE, Heard, UnknownConversation, title_of
from runtimes.opensre.host.work import MOST_WAITING, Busy, Work
from tests.runtimes.fake_opensre import KEY, FakeOpenSRE, answering, hosted

pytestmark = pytest.mark.anyio
ALERT = {"alert_name": "Checkout is slow", "severity": "critical"}


async def events(heard: Heard) -> list[Event]:
    return [event async for event in heard if event]


def said(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(row["role"], row["text"]) for row in rows]


class Stuck(FakeOpenSRE):
    """Begins, and goes on once it is let go."""

    def __init__(self, text: str) -> None:
        super().__init__(Answer(text))
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def _play(self) -> AsyncGenerator[Any, None]:
        self.begun.set()
        await self.go.wait()
        async for step in super()._play():
            yield step


async def test_an_answer_is_told_and_kept(tmp_path: Path) -> None:
    use = ToolUse("logs", "started", "")
    async with hosted(tmp_path, FakeOpenSRE(Delta("Good "), use, Answer("Good day."))) as there:
        heard = await events(await there.turns.say("main", "hello"))
        assert heard == [Delta("Good "), use, Completed("main", "Good day.")]
        assert said(there.store.history("main")) == [("user", "hello"), ("assistant", "Good day.")]


async def test_a_message_is_kept_before_its_turn_begins(tmp_path: Path) -> None:
    async with hosted(tmp_path, FakeOpenSRE()) as there:
        await there.turns.say("main", "hello")
        assert said(there.store.history("main")) == [("user", "hello")]


async def test_the_model_is_told_what_was_said_before(tmp_path: Path) -> None:
    async with hosted(tmp_path, answering("yes")) as there:
        await events(await there.turns.say("main", "one"))
        await events(await there.turns.say("main", "two"))
        assert there.engine.told[1] == [("user", "one"), ("assistant", "yes"), ("user", "two")]


async def test_a_second_message_waits_for_the_first_answer(tmp_path: Path) -> None:
    stuck = Stuck("yes")
    async with hosted(tmp_path, stuck) as there:
        first = await there.turns.say("main", "one")
        second = await there.turns.say("main", "two")
        await stuck.begun.wait()
        stuck.go.set()
        await events(first)
        await events(second)
        assert stuck.told[1] == [("user", "one"), ("assistant", "yes"), ("user", "two")]


async def test_an_answer_nobody_waits_for_is_kept(tmp_path: Path) -> None:
    stuck = Stuck("late")
    async with hosted(tmp_path, stuck) as there:
        heard = await there.turns.say("main", "hello")
        asked = asyncio.ensure_future(anext(heard))
        await stuck.begun.wait()
        asked.cancel()
        stuck.go.set()
        await events(await there.turns.say("main", "again"))
        assert ("assistant", "late") in said(there.store.history("main"))


async def test_an_unknown_conversation_is_not_made(tmp_path: Path) -> None:
    async with hosted(tmp_path) as there:
        with pytest.raises(UnknownConversation):
            await there.turns.say("plans", "hello")
        assert there.store.conversations() == []


async def test_a_failure_never_quotes_the_key(tmp_path: Path) -> None:
    async with hosted(tmp_path, FakeOpenSRE(RuntimeError(f"no {KEY} here"))) as there:
        heard = await events(await there.turns.say("main", "hello"))
        assert heard == [Failed("turn_failed", "RuntimeError: no … here")]
        assert said(there.store.history("main")) == [("user", "hello")]


async def test_a_report_is_kept_and_can_be_asked_about(tmp_path: Path) -> None:
    finding = Finding("The disk is full.", "# Report")
    async with hosted(tmp_path, FakeOpenSRE(finding)) as there:
        (done,) = await events(await there.turns.investigate(ALERT))
        assert isinstance(done, Completed)
        found = there.store.investigation(done.conversation)
        assert found is not None
        assert (found["status"], found["root_cause"]) == ("completed", "The disk is full.")
        there.engine.steps = [Answer("Because.")]
        await events(await there.turns.say(done.conversation, "Why?"))
        assert there.engine.told[0][1:] == [("assistant", "# Report"), ("user", "Why?")]


async def test_an_investigation_that_was_killed_is_interrupted_after_the_start(
    tmp_path: Path,
) -> None:
    async with hosted(tmp_path) as there:
        there.store.begin("inv_1", "Down", "Investigate this")
    async with hosted(tmp_path) as there:
        (found,) = there.store.investigations()
        assert (found["status"], found["title"]) == ("interrupted", "Down")
        assert "Send the alert again" in found["note"]


async def test_an_investigation_that_fails_says_why(tmp_path: Path) -> None:
    async with hosted(tmp_path, FakeOpenSRE(RuntimeError("no disk"))) as there:
        (failure,) = await events(await there.turns.investigate(ALERT))
        (found,) = there.store.investigations()
        assert failure == Failed("turn_failed", "RuntimeError: no disk")
        assert (found["status"], found["note"]) == ("failed", "RuntimeError: no disk")


async def test_too_many_turns_at_once_are_refused_before_they_are_kept(tmp_path: Path) -> None:
    stuck = Stuck("yes")
    async with hosted(tmp_path, stuck) as there:
        waiting = [await there.turns.say("main", "hello") for _ in range(MOST_WAITING)]
        with pytest.raises(Busy, match="Send this again"):
            await there.turns.say("main", "one more")
        assert len(there.store.history("main")) == MOST_WAITING
        stuck.go.set()
        for heard in waiting:
            await events(heard)


async def test_silence_is_filled_with_signs_of_life() -> None:
    go = asyncio.Event()

    async def slow() -> AsyncGenerator[Event, None]:
        await go.wait()
        yield Delta("at last")

    heard = Work(keep_alive_s=0.01).begin(slow())
    assert await anext(heard) is None
    go.set()
    assert Delta("at last") in await events(heard)


@pytest.mark.parametrize(
    ("alert", "title"),
    [
        ({"alert_name": " Down "}, "Down"),
        ({"commonLabels": {"alertname": "HighErrors"}}, "HighErrors"),
        ({"labels": [], "title": "[FIRING] x"}, "[FIRING] x"),
        ({"alert_name": 7}, "Incident"),
        ({"alert_name": "x" * 500}, "x" * MOST_TITLE),
    ],
)
def test_an_alert_is_called_by_the_name_its_monitoring_gave_it(
    alert: dict[str, Any], title: str
) -> None:
    assert title_of(alert) == title
