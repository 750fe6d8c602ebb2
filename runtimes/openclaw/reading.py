"""From what OpenClaw says to the platform's words.

An agent may answer with anything, so nothing here trusts a shape: what OpenClaw would not send
raises RuntimeRefused inside `understood`, whichever error it is by itself.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from runtimes import reading
from runtimes.adapter import Conversation, Failed, Message, ToolUse
from runtimes.reading import an_object, content_of, objects, string

understood = partial(reading.understood, "OpenClaw")
ROLES: dict[str, Literal["user", "assistant", "tool"]] = {
    "user": "user",
    "assistant": "assistant",
    "toolResult": "tool",
}
CODES = {
    "authentication_error": "model_key_refused",
    "permission_error": "model_key_refused",
    "rate_limit_error": "model_rate_limited",
    "insufficient_quota": "model_failed",
    "invalid_request_error": "model_failed",
}
# OpenClaw's words for what its type does not tell, and what people can do something about.
WORDS = (
    ("No API key found", "model_key_refused"),
    ("upstream provider", "model_failed"),
    ("LLM request", "model_failed"),
    ("Unknown model", "model_failed"),
)
MOST_DETAIL = 200  # characters
SURE = 1000  # characters by which a message is known again


@dataclass(frozen=True)
class Use:
    """A tool's use, by the run and the call it belongs to."""

    run: str
    call: str
    event: ToolUse


@dataclass(frozen=True)
class Chunk:
    """A piece of an answer, which may be the last; `at` is when its run began, in seconds."""

    run: str
    at: float
    text: str
    last: bool


def conversation_of(session: dict[str, Any], main: str) -> Conversation:
    key = string(session["key"])
    own = session.get("title") or session.get("label") or session.get("derivedTitle")
    title = "Main" if key == main else string(own)
    return Conversation(key, title, moment(session.get("updatedAt")), None)


def message_of(item: dict[str, Any]) -> Message | None:
    """A message people can read; None for a bare tool call and for OpenClaw's own notes."""
    role, text = ROLES.get(string(item.get("role"))), content_of(item.get("content"))
    if role is None or not text or is_note(item):
        return None
    return Message(string(about(item)["id"]), role, text, moment(item.get("timestamp")))


def is_note(item: dict[str, Any]) -> bool:
    """Said to the model by OpenClaw itself, such as that a restart cut it off."""
    source = item.get("provenance")
    return isinstance(source, dict) and source.get("kind") == "internal_system"


def said_by_person(item: dict[str, Any], text: str, since: float) -> bool:
    """Whether it is this text, said since then (in seconds). Long ones are not there in full."""
    at = item.get("timestamp")
    newer = isinstance(at, int | float) and at >= since * 1000
    same = content_of(item.get("content")).strip()[:SURE] == string(text).strip()[:SURE]
    return item.get("role") == "user" and newer and same and not is_note(item)


def about(item: dict[str, Any]) -> dict[str, Any]:
    """What OpenClaw knows of a message beside what was said."""
    return an_object(item["__openclaw"])


def moment(milliseconds: Any) -> datetime | None:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def uses_of(item: dict[str, Any]) -> list[Use]:
    """The tools that a message of the transcript calls, or whose result it is."""
    run = string(an_object(item.get("__openclaw") or {}).get("runId"))
    if item.get("role") == "toolResult":
        name = string(item.get("toolName"))
        return [Use(run, string(item.get("toolCallId")), ToolUse(name, "completed", ""))]
    content = item.get("content")
    parts = (
        [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    )
    return [use_of(run, part) for part in parts if part.get("type") == "toolCall"]


def use_of(run: str, call: dict[str, Any]) -> Use:
    detail = detail_of(call.get("arguments"))
    return Use(run, string(call.get("id")), ToolUse(string(call.get("name")), "started", detail))


def detail_of(arguments: Any) -> str:
    """What a tool was called with, for people: the only text in it, or all of it."""
    values = list(arguments.values()) if isinstance(arguments, dict) else []
    only = values[0] if len(values) == 1 and isinstance(values[0], str) else None
    told = only if only is not None else json.dumps(arguments) if arguments else ""
    return string(told)[:MOST_DETAIL]


def chunk_of(data: dict[str, Any]) -> Chunk | Failed:
    if "error" in data:
        return failed(an_object(data["error"]))
    choice, *_ = objects(data["choices"])
    text = string(an_object(choice.get("delta") or {}).get("content"))
    at, last = data.get("created"), choice.get("finish_reason") is not None
    return Chunk(string(data.get("id")), float(at or 0), text, last)


def failed(error: dict[str, Any]) -> Failed:
    """Sorted by the type OpenClaw gives an error, and by its words where that says nothing."""
    message = string(error.get("message")) or "The turn failed."
    code = CODES.get(string(error.get("type")))
    by_words = (code for words, code in WORDS if words in message)
    return Failed(code or next(by_words, "turn_failed"), message)
