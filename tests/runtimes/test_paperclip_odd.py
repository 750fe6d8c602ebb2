"""Whatever an agent answers, the adapter understands it or says that it does not."""

import json
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from runtimes.adapter import RuntimeProblem
from runtimes.paperclip import adapter as module
from runtimes.paperclip import turn
from runtimes.paperclip.adapter import adapter
from runtimes.paperclip.reading import failed
from runtimes.paperclip.setup import set_up
from runtimes.paperclip.tools import Tools
from runtimes.paperclip.web import web
from tests.runtimes.fake_paperclip import BASE, SETTINGS, FakePaperclip, logged
from tests.runtimes.odd import HALF, anything, encodable
from tests.runtimes.odd import heard as heard_in_chat

pytestmark = pytest.mark.anyio

UUID = "9d370277-eb3e-4201-bde0-c29a43833a25"
KEYS = [
    "id", "runId", "title", "updatedAt", "createdAt", "authorType", "body", "deletedAt", "status",
    "wakeCommentIds", "wakeCommentId", "lastOutputBytes", "logBytes", "error", "content", "token",
    "createdByRunId", "retryOfRunId", "enableAgentChat", "name", "adapterConfig", "runtimeConfig",
]  # fmt: skip
EVENTS = ["assistant", "user", "item.started", "tool_execution_start", "tool_execution_end"]
PARTS = ["type", "message", "content", "id", "name", "input", "item", "command", "toolName", "args"]
values = anything(KEYS, [UUID, "user", "agent", "running", "failed", "2026-11-30T19:42:41Z"])
parts = st.recursive(
    st.none() | st.integers() | st.text(max_size=5)
    | st.sampled_from([HALF, "tool_use", "tool_result", "command_execution", *EVENTS]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(PARTS), inner, max_size=5),
    max_leaves=12,
)  # fmt: skip
some = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PAUSE_S", "MOST_WAIT_S", "MOST_WAIT_FOR_RETRY_S"):
        monkeypatch.setattr(turn, name, 0.0)
    monkeypatch.setattr(module, "FIRST_PAUSE_S", 0.0)


async def heard(client: httpx.AsyncClient) -> list[Any]:
    """All that five questions bring, without those that are refused."""
    endpoint = FakePaperclip().settled()
    found = await heard_in_chat(adapter, client, endpoint)
    try:
        found += (await set_up(client, endpoint, "Mine", SETTINGS)).values()
        found += (await web.sign_in(client, endpoint, BASE, BASE)).values()
    except RuntimeProblem as problem:
        found.append(str(problem))
    return found


@some
@given(values, st.sampled_from([200, 201, 302, 400, 404, 500]))
@example([], 200)
@example({"id": UUID, "title": HALF, "updatedAt": "2026-13-99"}, 200)
@example([{"id": UUID, "authorType": "user", "body": HALF, "createdAt": 10**30}], 200)
@example({"id": "../../x"}, 200)
@example({"error": HALF}, 400)
async def test_any_answer_is_understood_or_refused(answer: Any, status: int) -> None:
    body = json.dumps(answer)
    transport = httpx.MockTransport(lambda request: httpx.Response(status, text=body))
    async with httpx.AsyncClient(transport=transport) as client:
        assert encodable(await heard(client))


@pytest.mark.parametrize("body", ["", "{", "[" * 5000, "NaN", "\x00", '"text"'])
async def test_an_answer_that_is_no_json_is_refused(body: str) -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, text=body))
    async with httpx.AsyncClient(transport=transport) as client:
        assert encodable(await heard(client))


@some
@given(st.lists(parts, max_size=4), st.integers(1, 40))
def test_whatever_a_program_writes_only_tells_or_is_left_out(events: list[Any], cut: int) -> None:
    tools, log = Tools(), logged(*events)
    pieces = [log[at : at + cut] for at in range(0, len(log), cut)]
    assert encodable([use for piece in pieces for use in tools.read(piece)])


def test_a_line_without_an_end_is_not_kept() -> None:
    tools = Tools()
    for _ in range(40):
        assert list(tools.read("x" * 100_000)) == []
    assert len(tools._log._rest) <= 1024 * 1024


def test_a_long_error_is_sorted_in_a_moment() -> None:
    assert failed("model " * 100_000).code == "turn_failed"
