"""What a command-line agent does in a run, out of the log Paperclip keeps of it.

The log is lines of JSON that hold pieces of what the program wrote, which is lines of JSON again,
in a way of its own for Claude Code, Codex and Pi. It only tells people what goes on; whatever is
not understood is left out.
"""

import json
from collections.abc import Iterator
from typing import Any

from runtimes.adapter import ToolUse
from runtimes.reading import an_object, string

LONGEST_LINE = 1024 * 1024
LONGEST_DETAIL = 200
DOINGS = ("command_execution", "file_change", "mcp_tool_call", "web_search")


class Tools:
    """Remembers what is unfinished: half a line, and the names of the tools at work."""

    def __init__(self) -> None:
        self._log = Lines()
        self._said = Lines()
        self._names: dict[str, str] = {}

    def read(self, content: str) -> Iterator[ToolUse]:
        for entry in self._log.ended(content):
            if entry.get("stream") != "stdout" or not isinstance(entry.get("chunk"), str):
                continue
            for event in self._said.ended(entry["chunk"]):
                try:
                    yield from self._uses(event)
                except (TypeError, KeyError):
                    continue

    def _uses(self, event: dict[str, Any]) -> Iterator[ToolUse]:
        match event.get("type"):
            case "assistant" | "user":  # Claude Code
                content = an_object(event["message"])["content"]
                for block in content if isinstance(content, list) else []:
                    yield from self._block(an_object(block))
            case "item.started" | "item.completed":  # Codex
                item = an_object(event["item"])
                name = string(item.get("type"))
                if name in DOINGS:
                    begun = event["type"] == "item.started"
                    detail = item.get("command") or item.get("query") or item.get("tool")
                    yield ToolUse(name, "started" if begun else "completed", short(detail))
            case "tool_execution_start":  # Pi
                yield ToolUse(string(event["toolName"]), "started", short(event.get("args")))
            case "tool_execution_end":
                yield ToolUse(string(event["toolName"]), "completed", "")

    def _block(self, block: dict[str, Any]) -> Iterator[ToolUse]:
        if block.get("type") == "tool_use":
            name = self._names[string(block["id"])] = string(block["name"])
            yield ToolUse(name, "started", short(block.get("input")))
        elif block.get("type") == "tool_result":
            name = self._names.pop(string(block["tool_use_id"]), "")
            if name:
                yield ToolUse(name, "completed", "")


class Lines:
    """JSON objects, one a line, out of text that comes in pieces."""

    def __init__(self) -> None:
        self._rest = ""

    def ended(self, text: str) -> Iterator[dict[str, Any]]:
        *lines, rest = (self._rest + text).split("\n")
        self._rest = rest if len(rest) <= LONGEST_LINE else ""
        for line in lines:
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, dict):
                yield found


def short(value: Any) -> str:
    """What a tool was given, for people: the command itself where there is one."""
    if isinstance(value, dict):
        value = value.get("command") or value.get("file_path") or value.get("path") or value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return string(text)[:LONGEST_DETAIL] if value is not None else ""
