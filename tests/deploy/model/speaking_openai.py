"""How a test asks and reads OpenAI's two APIs."""

import json
from typing import Any

Json = dict[str, Any]


def chat_ask(*said: str, tools: tuple[str, ...] = (), more: list[Json] | None = None) -> Json:
    roles = ["user" if place % 2 == 0 else "assistant" for place in range(len(said))]
    messages: list[Json] = [{"role": "system", "content": "The codeword is system-1."}]
    messages += [{"role": r, "content": t} for r, t in zip(roles, said, strict=True)]
    offered = [{"type": "function", "function": {"name": name}} for name in tools]
    return {"model": "m", "messages": messages + (more or []), "tools": offered}


def chat_result(name: str, result: str) -> list[Json]:
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": result},
    ]


def chat_said(body: Json) -> tuple[str, str, Json]:
    message = body["choices"][0]["message"]
    for call in message.get("tool_calls", []):
        return "", call["function"]["name"], json.loads(call["function"]["arguments"])
    return message["content"], "", {}


def chat_heard(chunks: list[Json]) -> tuple[str, str, Json]:
    text, name, arguments = "", "", ""
    for delta in [choice["delta"] for chunk in chunks for choice in chunk["choices"]]:
        text += delta.get("content") or ""
        for call in delta.get("tool_calls", []):
            name += call["function"].get("name", "")
            arguments += call["function"]["arguments"]
    return text, name, json.loads(arguments or "{}")


def chat_usage(body: Json) -> tuple[int, int]:
    return body["usage"]["prompt_tokens"], body["usage"]["completion_tokens"]


def responses_ask(*said: str, tools: tuple[str, ...] = (), more: list[Json] | None = None) -> Json:
    items: list[Json] = [{"role": "developer", "content": "The codeword is system-1."}]
    for place, text in enumerate(said):
        role, kind = ("user", "input_text") if place % 2 == 0 else ("assistant", "output_text")
        content = [{"type": kind, "text": text}]
        items.append({"type": "message", "role": role, "content": content})
    offered = [{"type": "function", "name": name} for name in tools] + [{"type": "web_search"}]
    return {"model": "m", "input": items + (more or []), "tools": offered}


def responses_result(name: str, result: str) -> list[Json]:
    return [
        {"type": "function_call", "call_id": "c1", "name": name, "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": result},
    ]


def responses_said(body: Json) -> tuple[str, str, Json]:
    item = body["output"][0]
    if item["type"] == "function_call":
        return "", item["name"], json.loads(item["arguments"])
    return item["content"][0]["text"], "", {}


def responses_heard(found: list[Json]) -> tuple[str, str, Json]:
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    kinds = ("response.output_text.delta", "response.function_call_arguments.delta")
    text, arguments = (
        "".join(event["delta"] for event in found if event["type"] == kind) for kind in kinds
    )
    names = [e["item"].get("name", "") for e in found if e["type"] == "response.output_item.done"]
    return text, names[0], json.loads(arguments or "{}")


def responses_usage(body: Json) -> tuple[int, int]:
    return body["usage"]["input_tokens"], body["usage"]["output_tokens"]
