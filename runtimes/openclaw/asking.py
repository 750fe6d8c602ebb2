"""Requests to OpenClaw, and how long each may take."""

from typing import Any
from urllib.parse import quote

import httpx

from runtimes.adapter import Endpoint
from runtimes.asking import exchange
from runtimes.openclaw.reading import understood
from runtimes.reading import an_object, parsed

TIMEOUT = httpx.Timeout(10.0, read=60.0)
# A turn sends nothing while its tools work, and they may work long. Where the agent dies the line
# is closed, so nobody waits for this.
TURN_TIMEOUT = httpx.Timeout(10.0, read=3600.0)


def history_of(key: str) -> str:
    return f"/sessions/{quote(key, safe='')}/history"


async def ask(
    client: httpx.AsyncClient,
    endpoint: Endpoint,
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
) -> dict[str, Any]:
    async with exchange(client, endpoint, method, path, body, timeout=TIMEOUT) as response:
        answer = await response.aread()
    with understood():
        return an_object(await parsed(answer))
