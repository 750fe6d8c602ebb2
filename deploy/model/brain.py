"""The brain: turns and tools in, one reply out. Pure, deterministic, and it never invents."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from deploy.model.facts import respond
from deploy.model.speech import ToolRequest, clean, tool_requests, unprefixed

LONGEST_RESULT = 2000
LONGEST_WAIT = 120.0
SLOW = re.compile(r"SLOW\s+(\d{1,6}(?:\.\d{1,6})?)(?!\S)\s*")
FAIL = re.compile(r"FAIL\s+(\d{3})\b")
GREETING = (
    "Hello! I am Roost's stand-in model. I remember what you tell me in this conversation and "
    "I can call a tool, but I cannot think. To talk to a real model, add your provider's key "
    "under Keys and choose that key and a model in the agent's settings."
)


@dataclass(frozen=True)
class Turn:
    """What one side said. A tool's turn holds the text of its result."""

    role: Literal["user", "assistant", "tool"]
    text: str


@dataclass(frozen=True)
class Say:
    text: str
    seconds: float = 0.0


@dataclass(frozen=True)
class Call:
    name: str
    arguments: dict[str, object]
    seconds: float = 0.0


@dataclass(frozen=True)
class Refuse:
    status: int


def think(turns: Sequence[Turn], tools: Sequence[str]) -> Say | Call | Refuse:
    """The reply to the last turns; only what users said counts as told."""
    told = [said for turn in turns if turn.role == "user" and (said := _said(turn)) is not None]
    result, after = _unanswered(turns)
    if result is not None and not after.strip():
        return _report(result)
    if not told:
        return Say(GREETING)
    # A bare tool result is reported; what someone wrote after it comes first if it asks for
    # something, because clients put an interrupted turn and the next message together.
    reply = _answer(told, tools)
    return _report(result) if reply is None and result is not None else reply or Say(GREETING)


def _said(turn: Turn) -> str | None:
    """What a person said in it; None where there is only what the client wrapped around."""
    said = clean(turn.text)
    return said if said.strip() or not turn.text.strip() else None


def _unanswered(turns: Sequence[Turn]) -> tuple[str | None, str]:
    """The tool results since the model last spoke, and what the user said after them."""
    results: list[str] = []
    after = ""
    for turn in reversed(turns):
        if turn.role == "assistant":
            break
        if turn.role == "tool":
            results.append(turn.text)
        elif not results:
            after = f"{clean(turn.text)}\n{after}"
    return ("\n\n".join(reversed(results)) if results else None), after


def _report(result: str) -> Say:
    text = result.strip()
    if not text:
        return Say("The tool answered with nothing.")
    cut = text[:LONGEST_RESULT] + ("…" if len(text) > LONGEST_RESULT else "")
    return Say(f"The tool answered: {cut}")


def _answer(told: list[str], tools: Sequence[str]) -> Say | Call | Refuse | None:
    """The answer to the last of what was told, or None when it asks for nothing we know."""
    # The last line only: a client may merge an unfinished "FAIL 500" into the next message.
    last = unprefixed((told[-1].strip().splitlines() or [""])[-1])
    if fail := FAIL.match(last):
        status = int(fail[1])
        return Refuse(status) if 400 <= status <= 599 else Say("FAIL takes a status of 400 to 599.")
    slow = SLOW.match(last)
    seconds = min(float(slow[1]), LONGEST_WAIT) if slow else 0.0
    reply = _call_or_recall(told, tools)
    if reply is None:
        return Say(GREETING, seconds) if slow else None
    return replace(reply, seconds=seconds)


def _call_or_recall(told: list[str], tools: Sequence[str]) -> Say | Call | None:
    requests = tool_requests(told[-1])
    if not requests:
        return _say(respond(told[:-1], told[-1]))
    request = requests[-1]
    before, later = told[-1][: request.start], told[-1][request.end :]
    return _say(respond([*told[:-1], before], later)) or _call(request, tools)


def _say(text: str | None) -> Say | None:
    return Say(text) if text else None


def _call(request: ToolRequest, tools: Sequence[str]) -> Say | Call:
    if request.arguments is None:
        return Say(f"I cannot read the JSON after USETOOL {request.name}, so I called nothing.")
    part = request.name.lower()
    for name in sorted(tools, key=lambda name: name.lower() != part):  # An equal name first.
        if part in name.lower():
            return Call(name, request.arguments)
    offered = ", ".join(tools[:60]) or "none"
    return Say(f"No tool here has {request.name} in its name. Tools offered: {offered}.")
