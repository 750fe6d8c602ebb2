"""Whatever answers in the host's place, the adapter understands it or says that it does not."""

import json
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from runtimes.adapter import RuntimeProblem, RuntimeRefused
from runtimes.opensre.adapter import adapter
from tests.runtimes.fake_opensre import ENDPOINT
from tests.runtimes.odd import HALF, answering, anything, encodable, no_json
from tests.runtimes.odd import heard as heard_in_chat

pytestmark = pytest.mark.anyio

KEYS = [
    "conversations", "messages", "investigations", "investigation", "id", "title", "at", "role",
    "text", "status", "note", "root_cause", "report", "name", "state", "detail", "conversation",
    "code", "message", "error",
]  # fmt: skip
EVENTS = ["delta", "tool", "completed", "failed", "something"]
values = anything(KEYS, ["user", "running", "started", "completed"], most=6)
some = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


async def heard(client: httpx.AsyncClient) -> list[Any]:
    """All that six questions bring, without those that are refused."""
    found = await heard_in_chat(adapter, client, ENDPOINT)
    try:
        found += await adapter.investigations(client, ENDPOINT)
    except RuntimeProblem as problem:
        found.append(str(problem))
    try:
        found.append(await adapter.investigation(client, ENDPOINT, "inv_1"))
    except RuntimeProblem as problem:
        found.append(str(problem))
    try:
        found += [event async for event in adapter.investigate(client, ENDPOINT, {"name": "Down"})]
    except RuntimeProblem as problem:
        found.append(str(problem))
    return found


@some
@given(values, st.sampled_from([200, 201, 302, 400, 404, 500]))
@example([], 200)
@example({"conversations": [{"id": "a", "title": HALF, "at": 1e300, "messages": 1}]}, 200)
@example({"messages": [{"id": 1, "role": "user", "text": HALF, "at": 1}]}, 200)
@example({"messages": [{"id": 1, "role": "system", "text": "x", "at": 1}]}, 200)
@example({"investigation": {"status": "running", "report": HALF}}, 200)
@example({"investigations": [{"status": [], "root_cause": ""}]}, 200)
@example({"error": {"message": HALF}}, 400)
async def test_any_answer_is_understood_or_refused(answer: Any, status: int) -> None:
    body = json.dumps(answer)
    async with answering(lambda request: httpx.Response(status, text=body)) as client:
        assert encodable(await heard(client))


@some
@given(st.lists(st.tuples(st.sampled_from(EVENTS), values), max_size=4))
@example([("delta", [])])
@example([("delta", {"text": HALF})])
@example([("tool", {"name": "x", "state": "odd", "detail": ""})])
@example([("completed", {"conversation": 1, "text": "x"})])
@example([("failed", {"code": HALF, "message": HALF})])
async def test_any_event_is_understood_or_refused(events: list[tuple[str, Any]]) -> None:
    said = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
    async with answering(lambda request: httpx.Response(200, text=said)) as client:
        assert encodable(await heard(client))


async def test_a_code_that_nobody_knows_is_the_turns_failure() -> None:
    said = 'event: failed\ndata: {"code": "odd", "message": "x"}\n\n'
    async with answering(lambda request: httpx.Response(200, text=said)) as client:
        (failure,) = [event async for event in adapter.stream(client, ENDPOINT, "hello")]
    assert getattr(failure, "code", None) == "turn_failed"


@no_json
async def test_what_is_no_answer_at_all_is_refused(body: bytes) -> None:
    async with answering(lambda request: httpx.Response(200, content=body)) as client:
        with pytest.raises(RuntimeRefused, match="not what OpenSRE's host sends"):
            await adapter.history(client, ENDPOINT)
