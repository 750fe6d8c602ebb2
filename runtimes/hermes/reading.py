"""From what Hermes says to the platform's words.

An agent may answer with anything, so nothing here trusts a shape: what Hermes would not send
raises RuntimeRefused inside `understood`, whichever error it is by itself.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Literal

import httpx

from runtimes.adapter import (
    ChatEvent,
    Completed,
    Conversation,
    Delta,
    Failed,
    Message,
    RuntimeRefused,
    ToolUse,
)

ROLES: dict[str, Literal["user", "assistant", "tool"]] = {
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
LARGE = 256 * 1024  # bytes of JSON that take long enough to let others go on meanwhile
MOST_REASON = 500  # characters
# RecursionError: a thousand brackets. OverflowError, OSError: a time nobody lives to see.
_ODD = (ValueError, TypeError, KeyError, OverflowError, OSError, RecursionError)


@contextmanager
def understood() -> Iterator[None]:
    try:
        yield
    except _ODD as error:
        raise RuntimeRefused(httpx.codes.OK, "The answer is not what Hermes sends.") from error


async def parsed(text: str | bytes) -> dict[str, Any]:
    if len(text) < LARGE:
        return an_object(json.loads(text))
    return an_object(await asyncio.to_thread(json.loads, text))


def an_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("This is no JSON object.")
    return value


def objects(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise TypeError("This is no list.")
    return [an_object(item) for item in value]


def string(value: Any) -> str:
    """Text that can be encoded: JSON may hold halves of a letter. None is empty."""
    if value is not None and not isinstance(value, str):
        raise TypeError("This is no text.")
    return (value or "").encode(errors="replace").decode()


def name_of(value: Any) -> str:
    """An id, which Hermes counts for messages and spells for sessions."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError("This is no id.")
    return string(str(value))


def conversation_of(session: dict[str, Any]) -> Conversation:
    count = session.get("message_count")
    return Conversation(
        id=name_of(session["id"]),
        title=string(session.get("title") or session.get("preview")),
        updated_at=moment(session.get("last_active") or session.get("started_at")),
        messages=count if isinstance(count, int) else None,
    )


def message_of(item: dict[str, Any]) -> Message | None:
    """A message people can read; None for a bare tool call and for Hermes' own notes."""
    role, text = ROLES.get(string(item.get("role"))), text_of(item.get("content"))
    if role is None or not text:
        return None
    return Message(name_of(item["id"]), role, text, moment(item.get("timestamp")))


def text_of(content: Any) -> str:
    if isinstance(content, list):
        return "".join(string(part.get("text")) for part in content if isinstance(part, dict))
    return string(content) if isinstance(content, str) else ""


def moment(seconds: Any) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if isinstance(seconds, int | float) else None


def answer_of(data: dict[str, Any]) -> Completed:
    return Completed(name_of(data["session_id"]), string(data.get("content")))


def chat_event_of(name: str, data: dict[str, Any], answer: Completed | None) -> ChatEvent | None:
    """What an event means to us, after `answer` was heard; None where it carries nothing new."""
    match name:
        case "assistant.delta":
            return Delta(string(data["delta"]))
        case "tool.started":
            return ToolUse(string(data.get("tool_name")), "started", string(data.get("preview")))
        case "tool.completed" | "tool.failed":
            return ToolUse(string(data.get("tool_name")), "completed", string(data.get("preview")))
        case "run.completed" if answer:
            return outcome(answer, objects(data.get("messages") or []))
        case "error":
            return failed(string(data.get("message")) or "The turn failed.")
    return None


def outcome(answer: Completed, transcript: list[dict[str, Any]]) -> Completed | Failed:
    """Hermes calls a failed turn completed, with the error as its text; the transcript tells.

    What the model said is in the transcript; what Hermes says in its place is not. (A reply that
    names a media file is rewritten on its way out and cannot be compared.)
    """
    said = text_of(transcript[-1].get("content")) if transcript else ""
    if said.strip() == answer.text.strip() or "MEDIA:" in said:
        return answer
    return failed(answer.text)


def failed(message: str) -> Failed:
    """Sorted by the model provider's status, where Hermes tells it."""
    status = re.search(r"\bHTTP (\d{3})\b", message)
    match int(status[1]) if status else 0:
        case 401 | 403:
            code = "model_key_refused"
        case 429:
            code = "model_rate_limited"
        case 0:
            code = "turn_failed"
        case _:
            code = "model_failed"
    return Failed(code, message)


def reason(body: bytes) -> str:
    """Hermes' own message out of an error body, or the start of whatever came."""
    try:
        return string(an_object(an_object(json.loads(body))["error"])["message"])[:MOST_REASON]
    except _ODD:
        return body[:200].decode(errors="replace")
