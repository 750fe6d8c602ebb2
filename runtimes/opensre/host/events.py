"""What a turn says while it goes on, and how it looks on the wire."""

import json
from dataclasses import asdict, dataclass
from typing import Literal


@dataclass(frozen=True)
class Delta:
    """More of the answer's text."""

    text: str


@dataclass(frozen=True)
class ToolUse:
    name: str
    state: Literal["started", "completed"]
    detail: str


@dataclass(frozen=True)
class Completed:
    """The turn is over; `conversation` is the one to go on with."""

    conversation: str
    text: str


@dataclass(frozen=True)
class Failed:
    """The turn is over without an answer; `code` is stable."""

    code: str
    message: str


Event = Delta | ToolUse | Completed | Failed
NAMES: dict[type[Event], str] = {
    Delta: "delta",
    ToolUse: "tool",
    Completed: "completed",
    Failed: "failed",
}


def sse(event: Event) -> bytes:
    """A server-sent event; in ASCII, so no half a letter of a model can break it."""
    return f"event: {NAMES[type(event)]}\ndata: {json.dumps(asdict(event))}\n\n".encode()
