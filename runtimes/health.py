"""Two questions to a runtime: is it alive, does it answer us. No answer is a no, not an error."""

import asyncio
from typing import Any

import httpx

from runtimes.adapter import Endpoint
from runtimes.catalog import Runtime

# A runtime that boots answers late or not at all; the asker asks again anyway. For the whole
# question: httpx bounds each read, and whoever sends a byte now and then would never be done.
TIMEOUT_S = 3.0


async def is_healthy(client: httpx.AsyncClient, runtime: Runtime, base_url: str) -> bool:
    """True when the health path answers 200 with a body that holds all the manifest expects.

    Judged by the body: another program on the same port answers 200 too.
    """
    response = await get(client, f"{base_url}{runtime.health.path}", {})
    if response is None or response.status_code != httpx.codes.OK:
        return False
    body = json_object(response)
    return all(body.get(key) == value for key, value in runtime.health.expect.items())


async def answers(client: httpx.AsyncClient, runtime: Runtime, endpoint: Endpoint) -> bool:
    """True when the ready path answers 200 to the agent's own token."""
    headers = {"Authorization": f"Bearer {endpoint.token}"}
    response = await get(client, f"{endpoint.base_url}{runtime.ready.path}", headers)
    return response is not None and response.status_code == httpx.codes.OK


async def get(
    client: httpx.AsyncClient, url: str, headers: dict[str, str]
) -> httpx.Response | None:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await client.get(url, headers=headers, timeout=None, follow_redirects=False)
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError):
        return None


def json_object(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except (ValueError, RecursionError):  # the latter for a thousand brackets
        return {}
    return body if isinstance(body, dict) else {}
