"""From what LangGraph streams to what is told; and waiting for OpenSRE to be there."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from runtimes.opensre.host.chatting import chat
from runtimes.opensre.host.engine import Answer, Finding, Said
from runtimes.opensre.host.events import Delta, ToolUse
from runtimes.opensre.host.faults import NoAnswer, NoReport, TooManyRounds
from runtimes.opensre.host.investigating import NOISE, investigate
from runtimes.opensre.host.loading import Loading
from tests.runtimes.fake_opensre import FakeOpenSRE, answering

pytestmark = pytest.mark.anyio
HELLO = [Said("user", "hello")]


class GraphRecursionError(Exception):
    """As LangGraph calls it."""


def message(kind: str, text: str = "", **more: Any) -> SimpleNamespace:
    return SimpleNamespace(type=kind, text=text, content=text, **{"tool_calls": [], **more})


def piece(node: str, text: str) -> tuple[str, Any]:
    return "messages", (message("AIMessageChunk", text), {"langgraph_node": node})


def update(node: str, *messages: SimpleNamespace) -> tuple[str, Any]:
    return "updates", {node: {"messages": list(messages)} if messages else None}


@dataclass
class Graph:
    steps: list[Any]
    asked: list[Any] = field(default_factory=list)

    async def astream(self, state: Any, config: Any, stream_mode: Any) -> AsyncGenerator[Any, None]:
        self.asked.append(state)
        for step in self.steps:
            if isinstance(step, Exception):
                raise step
            yield step


async def test_pieces_of_the_answer_come_before_the_whole() -> None:
    graph = Graph(
        [
            update("router"),
            piece("general", "Good "),
            piece("general", "day."),
            update("general", message("ai", "Good day.")),
        ]
    )
    assert [e async for e in chat(graph, HELLO)] == [
        Delta("Good "),
        Delta("day."),
        Answer("Good day."),
    ]
    assert graph.asked == [{"messages": [{"role": "user", "content": "hello"}]}]


async def test_tools_are_told_as_they_begin_and_end() -> None:
    call = {"name": "query_logs", "args": {"query": "5xx"}, "id": "1"}
    graph = Graph(
        [
            update("chat_agent", message("ai", tool_calls=[call])),
            update("tool_executor", message("tool", "12 lines", name="query_logs")),
            update("chat_agent", message("ai", "Twelve.")),
        ]
    )
    assert [e async for e in chat(graph, HELLO)] == [
        ToolUse("query_logs", "started", "{'query': '5xx'}"),
        ToolUse("query_logs", "completed", "12 lines"),
        Answer("Twelve."),
    ]


async def test_whole_messages_and_other_nodes_are_no_pieces() -> None:
    whole = ("messages", (message("ai", "Good day."), {"langgraph_node": "general"}))
    graph = Graph([piece("router", "general"), whole, update("general", message("ai", "Hi."))])
    assert [e async for e in chat(graph, HELLO)] == [Answer("Hi.")]


async def test_a_turn_without_a_word_is_no_answer() -> None:
    with pytest.raises(NoAnswer):
        [e async for e in chat(Graph([update("general", message("ai", "  "))]), HELLO)]


async def test_tools_without_an_end_are_told_as_such() -> None:
    with pytest.raises(TooManyRounds):
        [e async for e in chat(Graph([GraphRecursionError()]), HELLO)]


async def pipeline(*args: Any, raw_alert: Any) -> AsyncGenerator[SimpleNamespace, None]:
    """OpenSRE's, with the credentials it carries along."""

    def event(node: str, kind: str, name: str = "", **output: Any) -> SimpleNamespace:
        data = {"name": name or node, "data": {"output": output}}
        return SimpleNamespace(node_name=node, kind=kind, data=data)

    yield event("extract_alert", "on_chain_start")
    yield event("extract_alert", "on_chain_end", is_noise=raw_alert.get("noise", False))
    if raw_alert.get("noise"):
        return
    integrations = {"grafana": {"api_key": "glsa_secret"}, "_all": []}
    yield event("resolve_integrations", "on_chain_end", resolved_integrations=integrations)
    yield event("plan_actions", "on_chain_end", "RunnableLambda", planned_actions=["inner"])
    yield event("plan_actions", "on_chain_end", planned_actions=["query_logs"])
    yield event("diagnose", "on_chain_end", root_cause="The disk is full.")
    yield event("publish", "on_chain_end", report="# Report")


async def test_an_investigation_is_told_step_by_step_without_its_credentials() -> None:
    steps = [e async for e in investigate(pipeline, "Down", {"a": 1})]
    assert steps == [
        ToolUse("read alert", "started", ""),
        ToolUse("read alert", "completed", ""),
        ToolUse("load integrations", "completed", "grafana"),
        ToolUse("plan", "completed", "query_logs"),
        ToolUse("diagnose", "completed", "The disk is full."),
        ToolUse("write report", "completed", ""),
        Finding("The disk is full.", "# Report"),
    ]


async def test_an_investigation_without_a_report_is_none() -> None:
    async def silent(*args: Any, raw_alert: Any) -> AsyncGenerator[SimpleNamespace, None]:
        data = {"name": "publish", "data": {"output": {"report": " "}}}
        yield SimpleNamespace(node_name="publish", kind="on_chain_end", data=data)

    with pytest.raises(NoReport, match="Send the alert again"):
        [e async for e in investigate(silent, "Down", {"a": 1})]


async def test_noise_is_told_as_noise() -> None:
    steps = [e async for e in investigate(pipeline, "Hi", {"noise": True})]
    assert steps[-1] == Finding("", NOISE)


async def test_a_turn_waits_until_opensre_is_there() -> None:
    arrived = threading.Event()

    def load() -> FakeOpenSRE:
        arrived.wait()
        return answering("yes")

    engine = Loading(load)
    async with engine.lifespan(None):
        asked = asyncio.ensure_future(anext(engine.chat(HELLO)))
        await asyncio.sleep(0)
        assert not asked.done()
        arrived.set()
        assert await asked == Answer("yes")


async def test_an_opensre_that_cannot_be_loaded_ends_the_host() -> None:
    ended = asyncio.Event()

    def broken() -> Any:
        raise ImportError("no module named app")

    async with Loading(broken, give_up=ended.set).lifespan(None):
        await ended.wait()
    assert ended.is_set()
