"""Server-sent events out of a streaming response, as far as runtimes use them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx


@dataclass(frozen=True)
class ServerEvent:
    name: str
    data: str


async def server_events(response: httpx.Response) -> AsyncIterator[ServerEvent]:
    """Each complete event; comments (keep-alives) are left out, an unfinished end is dropped."""
    name, data = "message", list[str]()
    async for line in lines(response):
        if not line:
            if data:
                yield ServerEvent(name, "\n".join(data))
            name, data = "message", []
        elif line.startswith("event:"):
            name = line.removeprefix("event:").removeprefix(" ")
        elif line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))


async def lines(response: httpx.Response) -> AsyncIterator[str]:
    """Lines ended by LF or CR LF only: httpx's own also break at U+2028, which JSON may hold."""
    rest = ""
    async for text in response.aiter_text():
        *whole, rest = (rest + text).split("\n")
        for line in whole:
            yield line.removesuffix("\r")
