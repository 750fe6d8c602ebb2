"""From what OpenSRE's host says to the platform's words.

The host is ours, but it runs beside what an agent may have changed: nothing here trusts a shape.
What it would not send raises RuntimeRefused inside `understood`, whichever error it is by itself.
"""

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
    Investigation,
    Message,
    ToolUse,
)

understood = partial(reading.understood, "OpenSRE's host")
ROLES: dict[str, Literal["user", "assistant"]] = {"user": "user", "assistant": "assistant"}
STATES: dict[str, Literal["started", "completed"]] = {
    "started": "started",
    "completed": "completed",
}
CODES = {"model_key_refused", "model_rate_limited", "model_failed", "turn_failed"}
# What there is to say of an investigation in the place of a root cause.
WITHOUT_REPORT = {"interrupted": "Interrupted", "failed": "Failed"}


def string(value: Any) -> str:
    """Text that can be encoded: JSON may hold halves of a letter."""
    if not isinstance(value, str):
        raise TypeError("This is no text.")
    return value.encode(errors="replace").decode()


def number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("This is no number.")
    return value


def moment(seconds: Any) -> datetime:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError("This is no time.")
    return datetime.fromtimestamp(seconds, UTC)


def conversation_of(item: dict[str, Any]) -> Conversation:
    return Conversation(
        id=string(item["id"]),
        title=string(item["title"]),
        updated_at=moment(item["at"]),
        messages=number(item["messages"]),
    )


def message_of(item: dict[str, Any]) -> Message:
    return Message(
        id=str(number(item["id"])),
        role=ROLES[string(item["role"])],
        text=string(item["text"]),
        at=moment(item["at"]),
    )


def investigation_of(item: dict[str, Any]) -> Investigation | None:
    """None for one that is still running. One that ended without a report says why."""
    status, report = string(item["status"]), string(item.get("report", ""))
    if status == "running":
        return None
    cause = string(item["root_cause"])
    if status in WITHOUT_REPORT:
        cause = f"{WITHOUT_REPORT[status]}: {string(item['note'])}"
        report = cause if "report" in item else ""
    return Investigation(
        id=string(item["id"]),
        title=string(item["title"]),
        at=moment(item["at"]),
        root_cause=cause,
        report=report,
    )


def chat_event_of(name: str, data: dict[str, Any]) -> ChatEvent | None:
    """What an event means to us; None for one of a later host."""
    match name:
        case "delta":
            return Delta(string(data["text"]))
        case "tool":
            state = STATES[string(data["state"])]
            return ToolUse(string(data["name"]), state, string(data["detail"]))
        case "completed":
            return Completed(string(data["conversation"]), string(data["text"]))
        case "failed":
            code = string(data["code"])
            return Failed(code if code in CODES else "turn_failed", string(data["message"]))
    return None
