"""From what Hermes says to the platform's words.

An agent may answer with anything, so nothing here trusts a shape: what Hermes would not send
raises RuntimeRefused inside `understood`, whichever error it is by itself.
"""

import re
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from runtimes import reading
from runtimes.adapter import (
    ChatEvent,
    Completed,
    Conversation,
    Delta,
    Failed,
    Message,
    ToolUse,
)
from runtimes.reading import content_of, objects, string

understood = partial(reading.understood, "Hermes")
# How Hermes blacks out what looks like a key: ghp_ab...6789, password=***, and by name.
MASK = re.compile(r"\*{3,}|\.{3}|\[REDACTED[^\]]*\]|«redacted[^»]*»")
ROLES: dict[str, Literal["user", "assistant", "tool"]] = {
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


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
    role, text = ROLES.get(string(item.get("role"))), content_of(item.get("content"))
    if role is None or not text:
        return None
    return Message(name_of(item["id"]), role, text, moment(item.get("timestamp")))


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

    What the model said is in the transcript, whatever looks like a key blacked out; what Hermes
    says in its place is not. (A reply that names a media file is rewritten on its way out and
    cannot be compared.)
    """
    last = transcript[-1] if transcript else {}
    said = content_of(last.get("content"))
    if said.strip() == answer.text.strip() or "MEDIA:" in said:
        return answer
    if last.get("role") == "assistant" and blacked_out(said.strip(), answer.text.strip()):
        return answer
    return failed(answer.text)


def blacked_out(said: str, text: str) -> bool:
    """Whether `said` is `text` with parts of it masked: what is left stands there in order."""
    first, *rest = MASK.split(said)
    if not rest or said in {"...", "***"} or not text.startswith(first):
        return False  # bare dots may be an answer of before
    at = len(first)
    for piece in rest[:-1]:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return text.endswith(rest[-1]) and len(text) - len(rest[-1]) >= at


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
