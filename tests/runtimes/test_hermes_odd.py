"""Whatever an agent answers, the adapter understands it or says that it does not."""

import json
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from runtimes.adapter import RuntimeProblem, RuntimeRefused, RuntimeUnreachable
from runtimes.hermes.adapter import adapter
from runtimes.sse import LONGEST
from tests.runtimes.fake_hermes import ENDPOINT

pytestmark = pytest.mark.anyio

KEYS = [
    "data", "id", "title", "preview", "last_active", "message_count", "role", "content", "text",
    "timestamp", "session_id", "delta", "tool_name", "messages", "message", "error", "has_more",
]  # fmt: skip
EVENTS = ["assistant.delta", "tool.started", "tool.failed", "assistant.completed",
          "run.completed", "error", "done"]  # fmt: skip
HALF = "\ud800"  # half a letter: JSON may hold it, UTF-8 may not
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from([HALF, "user", "assistant", 1e300, 10**30]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)  # fmt: skip
some = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def answering(respond: Callable[[httpx.Request], httpx.Response]) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.MockTransport(respond))


async def heard(client: httpx.AsyncClient) -> list[Any]:
    """All that three questions bring, without those that are refused."""
    found: list[Any] = []
    for ask in (adapter.conversations, adapter.history):
        try:
            found += await ask(client, ENDPOINT)
        except RuntimeProblem as problem:
            found.append(str(problem))
    try:
        found += [event async for event in adapter.stream(client, ENDPOINT, "hello")]
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


@some
@given(anything, st.sampled_from([200, 201, 302, 400, 404, 500]))
@example([], 200)
@example({"data": [{"id": "a", "last_active": 1e300}]}, 200)
@example({"data": [{"id": 1, "role": "user", "content": HALF, "timestamp": 10**30}]}, 200)
@example({"data": {"id": 1}}, 200)
@example({"data": [None, {"title": HALF}]}, 200)
@example({"error": {"message": HALF}}, 400)
async def test_any_answer_is_understood_or_refused(answer: Any, status: int) -> None:
    body = json.dumps(answer)
    async with answering(lambda request: httpx.Response(status, text=body)) as client:
        assert encodable(await heard(client))


@some
@given(st.lists(st.tuples(st.sampled_from(EVENTS), anything), max_size=4))
@example([("assistant.delta", [])])
@example([("assistant.delta", {"delta": HALF})])
@example([("assistant.completed", {"session_id": []})])
@example([("assistant.completed", {"session_id": "a"}), ("run.completed", {"messages": [None]})])
@example([("error", {"message": {}})])
async def test_any_event_is_understood_or_refused(events: list[tuple[str, Any]]) -> None:
    said = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
    async with answering(lambda request: stream_or_ok(request, said)) as client:
        assert encodable(await heard(client))


def stream_or_ok(request: httpx.Request, said: str) -> httpx.Response:
    if request.url.path.endswith("/stream"):
        return httpx.Response(200, text=said)
    return httpx.Response(200, json={})


@pytest.mark.parametrize("body", [b"", b"[" * 100_000, b"\xff", b"9" * 10_000, b"NaN"])
async def test_what_is_no_answer_at_all_is_refused(body: bytes) -> None:
    async with answering(lambda request: httpx.Response(200, content=body)) as client:
        with pytest.raises(RuntimeRefused, match="not what Hermes sends"):
            await adapter.history(client, ENDPOINT)


async def test_a_stream_whose_line_never_ends_is_unreachable() -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b"event: assistant.delta\ndata: "
        for _ in range(LONGEST // 1000 + 2):
            yield b"x" * 1000

    def respond(request: httpx.Request) -> httpx.Response:
        stream = request.url.path.endswith("/stream")
        return httpx.Response(200, content=endless()) if stream else httpx.Response(200, json={})

    async with answering(respond) as client:
        with pytest.raises(RuntimeUnreachable, match="ReadError"):
            await anext(adapter.stream(client, ENDPOINT, "hello"))
