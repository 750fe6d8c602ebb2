"""An answer while it is written: what is sent, when, how much, and that nobody waits for it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from controlplane.agents.models import Agent
from frontend import markdown
from frontend.answering import events_of
from frontend.turns import LONG, PAGE, newest, turns_of

Word = dict[str, Any]
LIST = "- item **bold**\n" * 15_000  # 240 KB


def delta(text: str) -> Word:
    return {"type": "delta", "text": text}


def tool(name: str) -> Word:
    return {"type": "tool", "name": name, "state": "started", "detail": "<script>"}


def done(text: str) -> Word:
    return {"type": "completed", "conversation": "main", "text": text}


def said(agent: Agent, words: list[Word], *, one_by_one: bool = False) -> list[str]:
    """Events. One by one: each word waits until the word before it was answered."""
    answered = asyncio.Semaphore(1)

    async def speak() -> AsyncIterator[Word]:
        for word in words:
            if one_by_one:
                await answered.acquire()
            yield word

    async def listen() -> list[str]:
        found = []
        async for event in events_of(agent, speak()):
            found.append(event)
            answered.release()
        return found

    return async_to_sync(listen)()


def names(events: list[str]) -> list[str]:
    return [event.partition("\n")[0].removeprefix("event: ") for event in events]


def test_it_comes_word_by_word(agent: Agent) -> None:
    events = said(agent, [tool("look"), delta("In "), delta("**Kiel**"), done("")], one_by_one=True)

    assert names(events) == ["tools", "text", "text", "conversation", "done"]
    assert "&lt;script&gt;" in events[0]
    assert "<strong>Kiel</strong>" in events[2]
    assert "<strong>Kiel</strong>" in events[4]


def test_a_burst_of_words_and_tools_is_drawn_once(agent: Agent) -> None:
    words = [word for at in range(100) for word in (delta(f"{at} "), tool(f"tool-{at}"))]

    events = said(agent, words)

    assert len(events) < 10
    assert "99" in events[-3]
    assert "tool-99" in events[-2]
    assert names(events)[-1] == "failed"


@pytest.mark.parametrize("words", [[delta(LIST), done("")], [done(LIST)]])
def test_of_a_very_long_answer_the_beginning_is_shown(agent: Agent, words: list[Word]) -> None:
    last = said(agent, words)[-1]

    assert f"… {len(LIST) - LONG:,} more characters" in last
    assert last.count("<li>") == pytest.approx(LONG / 16, abs=1)


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_of_a_very_long_message_the_beginning_is_shown(role: str) -> None:
    messages = [{"role": role, "text": LIST}, {"role": "assistant", "text": ""}]

    drawn = repr(turns_of(messages))

    assert "more characters" in drawn
    assert len(drawn) < 6 * LONG


def test_a_page_of_long_messages_is_bounded() -> None:
    messages = [{"role": "assistant", "text": LIST} for _ in range(20)]

    assert len(newest(messages)) == PAGE // LONG


def test_nobody_waits_while_words_are_drawn(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[bool] = []
    render = markdown.render

    def watched(text: str) -> str:
        waited.append(asyncio._get_running_loop() is not None)
        return render(text)

    monkeypatch.setattr(markdown, "render", watched)

    said(agent, [delta("In "), done("Kiel")], one_by_one=True)

    assert waited == [False, False]
