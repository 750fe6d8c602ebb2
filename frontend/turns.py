"""A conversation as people read it: who said what, and which tools were used on the way.

Drawing words costs time in proportion to their number, and an agent may write as many as it
likes: a page shows so much of a message, and so many of the newest messages.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString

from frontend import markdown

LONG = 50_000  # characters that are shown of one message: up to a second to draw
LONG_TOOL = 10_000  # and of what a tool gave back, which is sent again with each other tool
PAGE = 200_000  # characters that are shown of all messages
NEWEST = 200  # messages


@dataclass
class Tool:
    name: str
    detail: str = ""
    done: bool = False


@dataclass
class Turn:
    """`html` is clean. `asks` tells a person's words from the agent's."""

    asks: bool
    html: SafeString
    at: datetime | None = None
    tools: list[Tool] = field(default_factory=list)


def newest(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As many as a page shows."""
    kept: list[dict[str, Any]] = []
    room = PAGE
    for message in reversed(messages[-NEWEST:]):
        room -= min(len(message["text"]), LONG)
        if room < 0:
            break
        kept.append(message)
    return kept[::-1]


def turns_of(messages: Iterable[dict[str, Any]]) -> list[Turn]:
    """What tools gave back belongs to the answer that follows it."""
    turns: list[Turn] = []
    tools: list[Tool] = []
    for message in messages:
        if message["role"] == "tool":
            tools.append(Tool("", _tool_text(message["text"]), done=True))
            continue
        asks = message["role"] == "user"
        html = _typed(message["text"]) if asks else written(message["text"])
        turns.append(Turn(asks, html, _moment(message.get("at")), [] if asks else tools))
        tools = tools if asks else []
    return turns


def written(text: str) -> SafeString:
    """An agent's words are markdown."""
    return markdown.render(text[:LONG]) + _more(text)


def _typed(text: str) -> SafeString:
    """A person's words stay as they were typed."""
    return format_html('<p class="typed">{}</p>', text[:LONG]) + _more(text)


def _more(text: str) -> SafeString:
    more = len(text) - LONG
    if more <= 0:
        return SafeString("")
    return format_html('<p class="muted">… {} more characters</p>', f"{more:,}")


def _tool_text(text: str) -> str:
    more = len(text) - LONG_TOOL
    return f"{text[:LONG_TOOL]}\n… {more:,} more characters" if more > 0 else text


def _moment(text: Any) -> datetime | None:
    return parse_datetime(text) if isinstance(text, str) else None


@dataclass
class Answer:
    """An answer while it is written."""

    text: str = ""
    tools: list[Tool] = field(default_factory=list)
    over: bool = False

    def use(self, name: str, state: str, detail: str) -> None:
        """A tool began or ended; what ends is the newest open one of its name."""
        detail = _tool_text(detail)
        if state == "started":
            self.tools.append(Tool(name, detail))
            return
        for tool in reversed(self.tools):
            if tool.name == name and not tool.done:
                tool.done = True
                tool.detail = detail or tool.detail
                return
        self.tools.append(Tool(name, detail, done=True))
