"""Whatever an agent answers, the adapter understands it or says that it does not."""

import json
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from runtimes.adapter import RuntimeRefused, RuntimeUnreachable
from runtimes.hermes.adapter import adapter
from tests.runtimes.fake_hermes import ENDPOINT
from tests.runtimes.odd import HALF, answering, anything, encodable, endless, heard, no_json

pytestmark = pytest.mark.anyio

KEYS = [
    "data", "id", "title", "preview", "last_active", "message_count", "role", "content", "text",
    "timestamp", "session_id", "delta", "tool_name", "messages", "message", "error", "has_more",
]  # fmt: skip
EVENTS = ["assistant.delta", "tool.started", "tool.failed", "assistant.completed",
          "run.completed", "error", "done"]  # fmt: skip
values = anything(KEYS, ["user", "assistant"])
some = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@some
@given(values, st.sampled_from([200, 201, 302, 400, 404, 500]))
@example([], 200)
@example({"data": [{"id": "a", "last_active": 1e300}]}, 200)
@example({"data": [{"id": 1, "role": "user", "content": HALF, "timestamp": 10**30}]}, 200)
@example({"data": {"id": 1}}, 200)
@example({"data": [None, {"title": HALF}]}, 200)
@example({"error": {"message": HALF}}, 400)
async def test_any_answer_is_understood_or_refused(answer: Any, status: int) -> None:
    body = json.dumps(answer)
    async with answering(lambda request: httpx.Response(status, text=body)) as client:
        assert encodable(await heard(adapter, client, ENDPOINT))


@some
@given(st.lists(st.tuples(st.sampled_from(EVENTS), values), max_size=4))
@example([("assistant.delta", [])])
@example([("assistant.delta", {"delta": HALF})])
@example([("assistant.completed", {"session_id": []})])
@example([("assistant.completed", {"session_id": "a"}), ("run.completed", {"messages": [None]})])
@example([("error", {"message": {}})])
async def test_any_event_is_understood_or_refused(events: list[tuple[str, Any]]) -> None:
    said = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
    async with answering(lambda request: stream_or_ok(request, said)) as client:
        assert encodable(await heard(adapter, client, ENDPOINT))


def stream_or_ok(request: httpx.Request, said: str) -> httpx.Response:
    if request.url.path.endswith("/stream"):
        return httpx.Response(200, text=said)
    return httpx.Response(200, json={})


@no_json
async def test_what_is_no_answer_at_all_is_refused(body: bytes) -> None:
    async with answering(lambda request: httpx.Response(200, content=body)) as client:
        with pytest.raises(RuntimeRefused, match="not what Hermes sends"):
            await adapter.history(client, ENDPOINT)


async def test_a_stream_whose_line_never_ends_is_unreachable() -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        stream = request.url.path.endswith("/stream")
        return (
            httpx.Response(200, content=endless(b"event: assistant.delta\ndata: "))
            if stream
            else httpx.Response(200, json={})
        )

    async with answering(respond) as client:
        with pytest.raises(RuntimeUnreachable, match="ReadError"):
            await anext(adapter.stream(client, ENDPOINT, "hello"))
