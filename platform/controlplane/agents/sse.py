"""Server-sent events, as text."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

from django.http import StreamingHttpResponse

# What ends a line of a stream. `str.splitlines` knows more (U+2028 …), and would tear JSON apart.
_LINE_END = re.compile(r"\r\n|\n|\r")


def event(name: str, data: Any, id: str | int | None = None) -> str:
    """One event; `data` is JSON-encoded unless it is text."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    head = f"id: {id}\n" if id is not None else ""
    body = "".join(f"data: {line}\n" for line in _LINE_END.split(text))
    return f"{head}event: {name}\n{body}\n"


def stream(events: AsyncIterator[str]) -> StreamingHttpResponse:
    response = StreamingHttpResponse(events, content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"  # nginx would hold the words back
    return response
