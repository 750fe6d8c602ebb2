"""Whatever an agent answers, the adapter understands it or says that it does not."""

import json
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from runtimes.adapter import Completed, RuntimeRefused, RuntimeUnreachable
from runtimes.openclaw.adapter import adapter
from tests.runtimes.fake_openclaw import ENDPOINT, MAIN, RUN, FakeOpenClaw, called
from tests.runtimes.odd import HALF, answering, anything, encodable, endless, heard, no_json

pytestmark = pytest.mark.anyio

KEYS = [
    "result", "details", "sessions", "hasMore", "nextOffset", "key", "derivedTitle", "updatedAt",
    "messages", "role", "content", "text", "timestamp", "__openclaw", "id", "runId", "choices",
    "delta", "finish_reason", "error", "message", "type", "toolCallId", "arguments",
]  # fmt: skip
values = anything(KEYS, ["user", "assistant", "toolResult", "toolCall"])
some = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


@some
@given(values, st.sampled_from([200, 201, 302, 400, 404, 500]))
@example([], 200)
@example({"result": {"details": {"sessions": [{"key": HALF, "updatedAt": 1e300}]}}}, 200)
@example({"result": {"details": {"sessions": [], "hasMore": True, "nextOffset": "x"}}}, 200)
@example({"messages": [{"role": "user", "content": HALF, "__openclaw": {"id": HALF}}]}, 200)
@example({"messages": [{"role": "user", "content": "a", "__openclaw": []}]}, 200)
@example({"error": {"message": HALF}}, 400)
async def test_any_answer_is_understood_or_refused(answer: Any, status: int) -> None:
    body = json.dumps(answer)
    async with answering(lambda request: httpx.Response(status, text=body)) as client:
        assert encodable(await heard(adapter, client, ENDPOINT))


@some
@given(st.lists(values, max_size=4))
@example([{"choices": []}])
@example([{"choices": [{"delta": {"content": HALF}}]}])
@example([{"id": [], "choices": [{"delta": {}}]}])
@example([{"error": {"message": {}}}])
@example([{"created": "x", "choices": [{"delta": {}}]}])
@example([{"id": RUN, "choices": [{"delta": {"content": "a"}, "finish_reason": 1}]}, "[DONE]"])
async def test_any_event_is_understood_or_refused(events: list[Any]) -> None:
    said = "".join(f"data: {json.dumps(data)}\n\n" for data in events)
    async with answering(lambda request: httpx.Response(200, text=said)) as client:
        assert encodable(await heard(adapter, client, ENDPOINT))


@pytest.mark.parametrize(
    "odd",
    [
        {"role": "assistant", "content": [{"type": "toolCall", "id": 7}]},
        {"role": "toolResult", "toolName": [], "__openclaw": {"runId": RUN}},
        {**called("c1", {}), "__openclaw": []},
        called("c1", {"command": HALF}),
    ],
)
async def test_an_odd_transcript_takes_nothing_from_the_answer(odd: dict[str, Any]) -> None:
    openclaw = FakeOpenClaw()
    openclaw.transcripts[MAIN] = [odd]
    openclaw.used = [called("c2", {})]
    openclaw.answers("fine")
    openclaw._all_told.set()
    async with openclaw.client() as client:
        found = [event async for event in adapter.stream(client, ENDPOINT, "hello")]
    assert found[-1] == Completed(MAIN, "fine")
    assert encodable(found)


@no_json
async def test_what_is_no_answer_at_all_is_refused(body: bytes) -> None:
    async with answering(lambda request: httpx.Response(200, content=body)) as client:
        with pytest.raises(RuntimeRefused, match="not what OpenClaw sends"):
            await adapter.history(client, ENDPOINT)


async def test_a_stream_whose_line_never_ends_is_unreachable() -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        chat = request.url.path == "/v1/chat/completions"
        return (
            httpx.Response(200, content=endless(b"data: "))
            if chat
            else httpx.Response(200, json={})
        )

    async with answering(respond) as client:
        with pytest.raises(RuntimeUnreachable, match="ReadError"):
            await anext(adapter.stream(client, ENDPOINT, "hello"))
