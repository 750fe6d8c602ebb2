"""OpenSRE as the host's engine. Importing this imports OpenSRE, which takes seconds."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from app.config import LLMSettings
from app.nodes import chat as nodes
from app.pipeline.routing import route_chat, should_call_tools
from app.pipeline.runners import astream_investigation
from app.state import AgentState
from langgraph.graph import END, StateGraph

from runtimes.opensre.host import models
from runtimes.opensre.host.chatting import chat
from runtimes.opensre.host.config import Config
from runtimes.opensre.host.engine import Answer, Finding, Said
from runtimes.opensre.host.events import Delta, ToolUse
from runtimes.opensre.host.investigating import investigate


class OpenSRE:
    def __init__(self, config: Config) -> None:
        models.install(config)
        self._graph = chat_graph()

    async def chat(self, said: Sequence[Said]) -> AsyncGenerator[Delta | ToolUse | Answer, None]:
        LLMSettings.from_env()  # raises where there is no key
        async for event in chat(self._graph, said):
            yield event

    async def investigate(
        self, title: str, alert: Mapping[str, Any]
    ) -> AsyncGenerator[ToolUse | Finding, None]:
        LLMSettings.from_env()  # without a key OpenSRE writes a report that says nothing
        async for event in investigate(astream_investigation, title, alert):
            yield event


def chat_graph() -> Any:
    """OpenSRE's own nodes: route the message, answer it, with tools where it needs some.

    In its one graph they fail: their second argument is called `_config`, which LangGraph no
    longer fills in. Here they get it.
    """
    graph = StateGraph(AgentState)
    graph.add_node("router", nodes.router_node)
    graph.add_node("chat_agent", lambda state: nodes.chat_agent_node(state, {}))
    graph.add_node("general", lambda state: nodes.general_node(state, {}))
    graph.add_node("tool_executor", nodes.tool_executor_node)
    graph.set_entry_point("router")
    graph.add_conditional_edges(
        "router", route_chat, {"tracer_data": "chat_agent", "general": "general"}
    )
    graph.add_conditional_edges(
        "chat_agent", should_call_tools, {"call_tools": "tool_executor", "done": END}
    )
    graph.add_edge("tool_executor", "chat_agent")
    graph.add_edge("general", END)
    return graph.compile()
