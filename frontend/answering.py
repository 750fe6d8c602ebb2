"""An answer while it is written, as events for a page: finished, clean HTML."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from django.template.loader import render_to_string
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.agents.sse import event
from controlplane.errors import Refusal, Unavailable
from frontend.batches import batches
from frontend.live import QUIET
from frontend.turns import LONG, Answer, Turn, written

KEY_REFUSED = "model_key_refused"


async def events_of(
    agent: Agent, words: AsyncIterator[dict[str, Any]], keys: str = ""
) -> AsyncIterator[str]:
    """`text` and `tools` while it is written, then `done` or `failed`, and a comment where it is
    silent for long. `keys` is the address of the page on which a refused key is put right."""
    answer = Answer()
    try:
        async with aclosing(batches(words, QUIET)) as heard:
            async for batch in heard:
                began = time.monotonic()
                for said in await asyncio.to_thread(_draw_more, agent, answer, batch, keys):
                    yield said
                if answer.over:
                    return
                # All of it is drawn and sent each time: the longer, the less often.
                took = time.monotonic() - began
                await asyncio.sleep(3 * took + min(len(answer.text), LONG) / 100_000)
        yield _failed(agent, "The answer was cut off.")
    except (Refusal, Unavailable) as error:
        yield _failed(agent, str(error))


def _draw_more(agent: Agent, answer: Answer, words: list[dict[str, Any]], keys: str) -> list[str]:
    """Events for what these words change in the answer. Takes its time: runs in a thread."""
    for word in words:
        match word["type"]:
            case "delta":
                answer.text += word["text"]
            case "tool":
                answer.use(word["name"], word["state"], word.get("detail", ""))
            case "completed":
                answer.over = True
                turn = Turn(False, written(word["text"] or answer.text), now(), answer.tools)
                done = event("done", _draw("_turn", agent, turn=turn))
                return [event("conversation", word["conversation"]), done]
            case "failed":
                answer.over = True
                refused = word.get("code") == KEY_REFUSED
                return [_failed(agent, word["message"], keys if refused else "")]
    changed = {word["type"] for word in words}
    events = [event("text", written(answer.text))] if "delta" in changed else []
    if "tool" in changed:
        events.append(event("tools", _draw("_tools", agent, tools=answer.tools)))
    return events or [": still here\n\n"]


def _failed(agent: Agent, why: str, keys: str = "") -> str:
    return event("failed", _draw("_failed", agent, why=why, keys=keys))


def _draw(template: str, agent: Agent, **context: Any) -> str:
    return render_to_string(f"frontend/agent/chat/{template}.html", {"agent": agent, **context})
