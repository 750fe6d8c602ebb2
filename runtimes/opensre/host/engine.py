"""What the host needs of OpenSRE. Tests give another."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from runtimes.opensre.host.events import Delta, ToolUse


@dataclass(frozen=True)
class Said:
    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True)
class Answer:
    """The whole answer of a chat turn."""

    text: str


@dataclass(frozen=True)
class Finding:
    """What an investigation found; `report` is Markdown."""

    root_cause: str
    report: str


class Engine(Protocol):
    """Both end with exactly one Answer or Finding, or raise whatever went wrong."""

    def chat(self, said: Sequence[Said]) -> AsyncGenerator[Delta | ToolUse | Answer, None]:
        """The answer to the last of what was said."""
        ...

    def investigate(
        self, title: str, alert: Mapping[str, Any]
    ) -> AsyncGenerator[ToolUse | Finding, None]:
        """The steps of looking into an alert, then what was found."""
        ...
