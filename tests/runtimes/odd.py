"""Odd answers for every adapter: any JSON with a runtime's own words in it, and what is none."""

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import Any

import httpx
import pytest
from hypothesis import strategies as st

from runtimes.adapter import Adapter, Endpoint, RuntimeProblem
from runtimes.lines import LONGEST

HALF = "\ud800"  # half a letter: JSON may hold it, UTF-8 may not
no_json = pytest.mark.parametrize("body", [b"", b"[" * 100_000, b"\xff", b"9" * 10_000, b"NaN"])


def anything(keys: Sequence[str], words: Sequence[Any], most: int = 5) -> st.SearchStrategy[Any]:
    """JSON of any shape, objects of up to `most` of these keys, these words among its values."""
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
        | st.sampled_from([HALF, *words, 1e300, 10**30]),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(keys), inner, max_size=most),
        max_leaves=12,
    )  # fmt: skip


def answering(respond: Callable[[httpx.Request], httpx.Response]) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.MockTransport(respond))


async def heard(adapter: Adapter, client: httpx.AsyncClient, endpoint: Endpoint) -> list[Any]:
    """All that three questions bring, and what those say that are refused."""
    found: list[Any] = []
    for ask in (adapter.conversations, adapter.history):
        try:
            found += await ask(client, endpoint)
        except RuntimeProblem as problem:
            found.append(str(problem))
    try:
        found += [event async for event in adapter.stream(client, endpoint, "hello")]
    except RuntimeProblem as problem:
        found.append(str(problem))
    return found


def encodable(found: list[Any]) -> bool:
    """Half a letter cannot be, and would break the answer to the people who asked."""
    parts = [
        part for one in found for part in ([one] if isinstance(one, str) else vars(one).values())
    ]
    assert all(isinstance(part, str | int | datetime | None) for part in parts)
    return all(part.encode() or not part for part in parts if isinstance(part, str))


async def endless(head: bytes) -> AsyncIterator[bytes]:
    """A line that is longer than anybody reads."""
    yield head
    for _ in range(LONGEST // 1000 + 2):
        yield b"x" * 1000
