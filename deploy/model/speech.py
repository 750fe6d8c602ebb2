"""Taking people's words out of what clients wrap around them. Linear in the text's length."""

import json
import re
from dataclasses import dataclass

from deploy.model.fields import check_json

# Blocks that clients put into a user message; nobody said them.
WRAPPERS = (
    "system-reminder", "memory-context", "environment_context", "user_instructions", "INSTRUCTIONS",
)  # fmt: skip
# OpenClaw says what it is busy with in a user message of its own, after the person's.
OPENCLAW = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>", "<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"
# Paperclip wraps pages around each message, and the message into this.
PAPERCLIP = "## Paperclip "
LATEST, LATEST_END = "\nLatest wake comment:\n```text\n", "\n```"
LONGEST = 128 * 1024
PREFIX = re.compile(r"(?:\s*(?:\[[^\]\n]{0,200}\]|[>*•-]\s|(?:user|human)\s?:))*\s*", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.!?])\s+")
REQUEST = re.compile(r"\bUSETOOL[ \t]+([^\s{]{1,200})\s*")
READER = json.JSONDecoder()


@dataclass(frozen=True)
class ToolRequest:
    """A USETOOL directive at text[start:end]; arguments None: its JSON cannot be read."""

    start: int
    end: int
    name: str
    arguments: dict[str, object] | None


def clean(text: str) -> str:
    """The text without clients' wrappers; the middle of a huge one is left out."""
    if len(text) > LONGEST:
        text = text[: LONGEST // 2] + "\n\n" + text[-LONGEST // 2 :]
    for name in WRAPPERS:
        text = _without(text, f"<{name}", f"</{name}>")
    text = _without(text, *OPENCLAW)
    return _latest(text) if f"\n{PAPERCLIP}" in f"\n{text}" else text


def _latest(text: str) -> str:
    """What a person said last, or nothing where Paperclip woke the agent by itself."""
    _, _, after = text.partition(LATEST)
    return after.partition(LATEST_END)[0]


def _without(text: str, opening: str, closing: str) -> str:
    kept, place = [], 0
    while (start := text.find(opening, place)) >= 0:
        end = text.find(closing, start)
        if end < 0:
            break
        kept.append(text[place:start])
        place = end + len(closing)
    return "".join(kept) + text[place:]


def tool_requests(text: str) -> list[ToolRequest]:
    found: list[ToolRequest] = []
    for match in REQUEST.finditer(text):
        if found and match.start() < found[-1].end:
            continue  # It stands inside the JSON of the one before.
        end, arguments = match.end(), None
        if text[end : end + 1] != "{":
            found.append(ToolRequest(match.start(), end, match[1], {}))
            continue
        try:
            arguments, end = READER.raw_decode(text, end)
            check_json(arguments)
        except (ValueError, RecursionError):
            arguments = None
        found.append(ToolRequest(match.start(), end, match[1], arguments))
    return found


def without_tool_requests(text: str) -> str:
    kept, place = [], 0
    for request in tool_requests(text):
        kept.append(text[place : request.start])
        place = request.end
    return "".join(kept) + text[place:]


def unprefixed(line: str) -> str:
    """The line without quote marks, bracketed stamps and "User:"."""
    match = PREFIX.match(line)
    return line[match.end() :] if match else line


def sentences(line: str) -> list[str]:
    return [part for part in SENTENCE.split(line.strip()) if part]
