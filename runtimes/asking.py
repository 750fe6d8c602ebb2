"""One request to a runtime; httpx's errors become ours here and only here."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx

from runtimes.adapter import Endpoint, RuntimeRefused, RuntimeUnreachable
from runtimes.capped import AnswerTooLong
from runtimes.reading import reason


@contextmanager
def translated() -> Iterator[None]:
    try:
        yield
    except AnswerTooLong as error:
        raise RuntimeRefused(httpx.codes.OK, "Its answer is longer than we read.") from error
    except httpx.HTTPError as error:
        problem = f"The agent's runtime does not answer ({type(error).__name__})."
        raise RuntimeUnreachable(problem) from error


@asynccontextmanager
async def exchange(
    client: httpx.AsyncClient,
    endpoint: Endpoint,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    timeout: httpx.Timeout,
    headers: Mapping[str, str] | None = None,
) -> AsyncIterator[httpx.Response]:
    """With the agent's token; the answer is read inside. Raises RuntimeProblem, for an answer that
    is an error too."""
    sent = {"Authorization": f"Bearer {endpoint.token}", **(headers or {})}
    url = f"{endpoint.base_url}{path}"
    with translated():
        async with client.stream(method, url, headers=sent, json=body, timeout=timeout) as response:
            if response.is_error:
                raise RuntimeRefused(response.status_code, reason(await response.aread()))
            yield response
