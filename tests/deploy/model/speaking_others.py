"""How a test asks and reads Anthropic's and Gemini's APIs."""

import json
from typing import Any

Json = dict[str, Any]


def anthropic_ask(*said: str, tools: tuple[str, ...] = (), more: list[Json] | None = None) -> Json:
    roles = ["user" if place % 2 == 0 else "assistant" for place in range(len(said))]
    messages: list[Json] = [
        {"role": r, "content": [{"type": "text", "text": t}]}
        for r, t in zip(roles, said, strict=True)
    ]
    offered = [{"name": name, "input_schema": {"type": "object"}} for name in tools]
    base = {"model": "m", "max_tokens": 100, "system": "The codeword is system-1."}
    return base | {"messages": messages + (more or []), "tools": offered}


def anthropic_result(name: str, result: str) -> list[Json]:
    called = {"type": "tool_use", "id": "t1", "name": name, "input": {}}
    answered = {"type": "tool_result", "tool_use_id": "t1"}
    content = [{"type": "text", "text": result}]
    return [
        {"role": "assistant", "content": [called]},
        {"role": "user", "content": [answered | {"content": content}]},
    ]


def anthropic_said(body: Json) -> tuple[str, str, Json]:
    block = body["content"][0]
    if block["type"] == "tool_use":
        return "", block["name"], block["input"]
    return block["text"], "", {}


def anthropic_heard(found: list[Json]) -> tuple[str, str, Json]:
    opened = next(e["content_block"] for e in found if e["type"] == "content_block_start")
    deltas = [e["delta"] for e in found if e["type"] == "content_block_delta"]
    text = "".join(delta.get("text", "") for delta in deltas)
    arguments = "".join(delta.get("partial_json", "") for delta in deltas)
    return text, opened.get("name", ""), json.loads(arguments or "{}")


def anthropic_usage(body: Json) -> tuple[int, int]:
    return body["usage"]["input_tokens"], body["usage"]["output_tokens"]


def anthropic_usage_heard(found: list[Json]) -> tuple[int, int]:
    first = found[0]["message"]["usage"]["input_tokens"]
    return first, found[-2]["usage"]["output_tokens"]


def gemini_ask(*said: str, tools: tuple[str, ...] = (), more: list[Json] | None = None) -> Json:
    roles = ["user" if place % 2 == 0 else "model" for place in range(len(said))]
    contents: list[Json] = [
        {"role": r, "parts": [{"text": t}]} for r, t in zip(roles, said, strict=True)
    ]
    system = {"parts": [{"text": "The codeword is system-1."}]}
    offered = [{"functionDeclarations": [{"name": name} for name in tools]}]
    return {"systemInstruction": system, "contents": contents + (more or []), "tools": offered}


def gemini_result(name: str, result: str) -> list[Json]:
    response = {"name": name, "response": {"output": result}}
    return [
        {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": response}]},
    ]


def gemini_said(body: Json) -> tuple[str, str, Json]:
    return gemini_heard([body])


def gemini_heard(found: list[Json]) -> tuple[str, str, Json]:
    parts = [part for chunk in found for part in chunk["candidates"][0]["content"]["parts"]]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    text = "".join(part.get("text", "") for part in parts)
    return (text, calls[0]["name"], calls[0]["args"]) if calls else (text, "", {})


def gemini_usage(body: Json) -> tuple[int, int]:
    usage = body["usageMetadata"]
    return usage["promptTokenCount"], usage["candidatesTokenCount"]
