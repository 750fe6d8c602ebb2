"""Requests to Paperclip."""

from collections.abc import Mapping
from typing import Any

import httpx

from runtimes.adapter import Endpoint, RuntimeRefused
from runtimes.asking import translated
from runtimes.paperclip.reading import reason, understood
from runtimes.reading import parsed

# Its first answers after a start can take long on a busy host.
TIMEOUT = httpx.Timeout(10.0, read=60.0)


async def ask(
    client: httpx.AsyncClient,
    endpoint: Endpoint,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
) -> Any:
    """The JSON it answers with. Raises RuntimeProblem."""
    headers = {"Authorization": f"Bearer {endpoint.own.get('token') or endpoint.token}"}
    return await read(await send(client, method, f"{endpoint.base_url}{path}", headers, body))


async def read(response: httpx.Response) -> Any:
    with understood():
        return await parsed(response.content)


async def send(
    client: httpx.AsyncClient,
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: Mapping[str, Any] | None = None,
) -> httpx.Response:
    """Its answer, read whole. Raises RuntimeProblem, for an answer that is an error too."""
    with translated():
        response = await client.request(method, url, headers=headers, json=body, timeout=TIMEOUT)
    if not response.is_success:
        raise RuntimeRefused(response.status_code, reason(response.content))
    return response
