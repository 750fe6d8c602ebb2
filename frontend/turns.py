"""A conversation as people read it: who said what, and which tools were used on the way."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString

from frontend import markdown


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


def turns_of(messages: Iterable[dict[str, Any]]) -> list[Turn]:
    """What tools gave back belongs to the answer that follows it."""
    turns: list[Turn] = []
    tools: list[Tool] = []
    for message in messages:
        if message["role"] == "tool":
            tools.append(Tool("", message["text"], done=True))
            continue
        asks = message["role"] == "user"
        # A person's words stay as they were typed; an agent's are markdown.
        html = _typed(message["text"]) if asks else markdown.render(message["text"])
        turns.append(Turn(asks, html, _moment(message.get("at")), [] if asks else tools))
        tools = tools if asks else []
    return turns


def _typed(text: str) -> SafeString:
    return format_html('<p class="typed">{}</p>', text)


def _moment(text: Any) -> datetime | None:
    return parse_datetime(text) if isinstance(text, str) else None


@dataclass
class Answer:
    """An answer while it is written."""

    text: str = ""
    tools: list[Tool] = field(default_factory=list)

    def use(self, name: str, state: str, detail: str) -> None:
        """A tool began or ended; what ends is the newest open one of its name."""
        if state == "started":
            self.tools.append(Tool(name, detail))
            return
        for tool in reversed(self.tools):
            if tool.name == name and not tool.done:
                tool.done = True
                tool.detail = detail or tool.detail
                return
        self.tools.append(Tool(name, detail, done=True))
