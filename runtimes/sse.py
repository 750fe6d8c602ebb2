"""Server-sent events out of a streaming response, as far as runtimes use them."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

import httpx

from runtimes.lines import LONGEST, lines


@dataclass(frozen=True)
class ServerEvent:
    name: str
    data: str


async def server_events(
    response: httpx.Response, longest: int = LONGEST
) -> AsyncGenerator[ServerEvent, None]:
    """Each complete event; comments (keep-alives) are left out, an unfinished end is dropped.

    Raises httpx.ReadError for an event that is longer.
    """
    name, data, size = "message", list[str](), 0
    async with aclosing(lines(response.aiter_bytes(), longest)) as found:
        async for line in found:
            if not line:
                if data:
                    yield ServerEvent(name, "\n".join(data))
                name, data, size = "message", [], 0
            elif line.startswith("event:"):
                name = line.removeprefix("event:").removeprefix(" ")
            elif line.startswith("data:"):
                data.append(line.removeprefix("data:").removeprefix(" "))
                size += len(line)
                if size > longest:
                    raise httpx.ReadError("An event of the answer is longer than we read.")
