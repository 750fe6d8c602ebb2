"""Reading what a runtime answers: whatever it is, it becomes a value of the right kind or an error.

An agent may answer with anything, so nothing trusts a shape: what is not the runtime's way to speak
raises RuntimeRefused inside `understood`, whichever error it is by itself.
"""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from runtimes.adapter import RuntimeRefused

LARGE = 256 * 1024  # bytes of JSON that take long enough to let others go on meanwhile
MOST_REASON = 500  # characters
# RecursionError: a thousand brackets. OverflowError, OSError: a time nobody lives to see.
ODD = (ValueError, TypeError, KeyError, OverflowError, OSError, RecursionError)


@contextmanager
def understood(who: str) -> Iterator[None]:
    try:
        yield
    except ODD as error:
        raise RuntimeRefused(httpx.codes.OK, f"The answer is not what {who} sends.") from error


async def parsed(text: str | bytes) -> Any:
    if len(text) < LARGE:
        return json.loads(text)
    return await asyncio.to_thread(json.loads, text)


def an_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("This is no JSON object.")
    return value


def objects(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise TypeError("This is no list.")
    return [an_object(item) for item in value]


def string(value: Any) -> str:
    """Text that can be encoded: JSON may hold halves of a letter. None is empty."""
    if value is not None and not isinstance(value, str):
        raise TypeError("This is no text.")
    return (value or "").encode(errors="replace").decode()


def content_of(content: Any) -> str:
    """A message's text, where it is text or a list of parts with text in them."""
    if isinstance(content, list):
        return "".join(string(part.get("text")) for part in content if isinstance(part, dict))
    return string(content) if isinstance(content, str) else ""


def reason(body: bytes) -> str:
    """The runtime's own message out of {"error": {"message"}}, or the start of whatever came."""
    try:
        return string(an_object(an_object(json.loads(body))["error"])["message"])[:MOST_REASON]
    except ODD:
        return body[:200].decode(errors="replace")
