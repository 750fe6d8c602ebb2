"""A chat turn: what OpenSRE's chat graph does, told as it does it."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any

from runtimes.opensre.host.engine import Answer, Said
from runtimes.opensre.host.events import Delta, ToolUse
from runtimes.opensre.host.faults import NoAnswer, TooManyRounds

ANSWERING = {"chat_agent", "general"}
PIECE = "AIMessageChunk"  # what LangChain calls a piece of an answer; whole messages come as well
MOST_STEPS = 30  # two for each round of tools
MOST_DETAIL = 200  # characters


async def chat(graph: Any, said: Sequence[Said]) -> AsyncGenerator[Delta | ToolUse | Answer, None]:
    """`graph` is a compiled LangGraph, its nodes named as OpenSRE names them."""
    messages = [{"role": one.role, "content": one.text} for one in said]
    answer = ""
    steps = graph.astream(
        {"messages": messages},
        {"recursion_limit": MOST_STEPS},
        stream_mode=["messages", "updates"],
    )
    try:
        async for kind, payload in steps:
            if kind == "messages":
                message, about = payload
                if message.type == PIECE and about["langgraph_node"] in ANSWERING and message.text:
                    yield Delta(str(message.text))
                continue
            for node, update in payload.items():
                new = (update or {}).get("messages", [])
                if node in ANSWERING:
                    answer = str(new[-1].text)
                for use in tool_uses(node, new):
                    yield use
    except Exception as error:
        if type(error).__name__ == "GraphRecursionError":
            raise TooManyRounds from error
        raise
    if not answer.strip():
        raise NoAnswer
    yield Answer(answer)


def tool_uses(node: str, messages: Sequence[Any]) -> Iterator[ToolUse]:
    for message in messages:
        if node == "tool_executor":
            yield ToolUse(str(message.name), "completed", str(message.content)[:MOST_DETAIL])
        elif node in ANSWERING:
            for call in message.tool_calls:
                yield ToolUse(call["name"], "started", str(call["args"])[:MOST_DETAIL])
