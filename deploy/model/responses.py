"""OpenAI's responses API. Nothing is stored: the whole conversation has to be in `input`."""

import json
from collections.abc import Iterator, Mapping

from deploy.model import fields, openai
from deploy.model.brain import Say, Turn
from deploy.model.exchange import (
    CREATED,
    Ask,
    Dialect,
    Frame,
    Json,
    Reply,
    reply_tokens,
    seed,
    tokens,
    words,
)
from deploy.model.fields import Body
from deploy.model.rejected import Rejected


def parse(body: Body, _path: Mapping[str, str]) -> Ask:
    named = fields.text(body, "model")
    if body.get("previous_response_id") is not None:
        message = "Previous response not found: nothing is stored here, send the whole input."
        field = "previous_response_id"
        raise Rejected(400, message, code="previous_response_not_found", param=field)
    return Ask(
        model=named,
        turns=_turns(body),
        tools=_tools(body),
        stream=fields.flag(body, "stream"),
        seed=seed(body, "stream", "stream_options"),
        prompt_tokens=tokens([body.get(key) for key in ("instructions", "input", "tools")]),
    )


def _turns(body: Body) -> list[Turn]:
    if isinstance(body.get("input"), str):
        return [Turn("user", fields.text(body, "input"))]
    items = fields.objects(body, "input", required=True)
    return [turn for item in items for turn in _turn(item)]


def _turn(item: Body) -> list[Turn]:
    match item.get("type", "message"):
        case "message":
            text = fields.prose(item.get("content"), "content")
            match fields.text(item, "role"):
                case "user":
                    return [Turn("user", text)]
                case "assistant":
                    return [Turn("assistant", text)]
                case "system" | "developer":
                    return []
            raise fields.wrong("role", "user, assistant, system or developer")
        case "function_call":
            return [Turn("assistant", "")]
        case "function_call_output":
            return [Turn("tool", fields.prose(item.get("output"), "output"))]
    return []  # Reasoning and the provider's own tools say nothing to us.


def _tools(body: Body) -> list[str]:
    offered = [tool for tool in fields.objects(body, "tools") if tool.get("type") == "function"]
    names = [fields.text(tool, "name") for tool in offered]
    return [] if body.get("tool_choice") == "none" else names


def _item(ask: Ask, reply: Reply) -> Json:
    if isinstance(reply, Say):
        item = {"id": ask.id("msg_"), "type": "message", "status": "completed"}
        return item | {"role": "assistant", "content": [_part(reply.text)]}
    item = {"id": ask.id("fc_"), "type": "function_call", "status": "completed"}
    called = {"call_id": ask.id("call_"), "name": reply.name}
    return item | called | {"arguments": json.dumps(reply.arguments)}


def _part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def plain(ask: Ask, reply: Reply) -> Json:
    out = reply_tokens(reply)
    usage = {
        "input_tokens": ask.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": out,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": ask.prompt_tokens + out,
    }
    return _begun(ask) | {"status": "completed", "output": [_item(ask, reply)], "usage": usage}


def _begun(ask: Ask) -> Json:
    return {
        "id": ask.id("resp_"),
        "object": "response",
        "created_at": CREATED,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": ask.model,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None,
    }


def frames(ask: Ask, reply: Reply) -> Iterator[Frame]:
    for number, (kind, data, paced) in enumerate(_events(ask, reply)):
        yield Frame({"type": kind, "sequence_number": number} | data, event=kind, paced=paced)


def _events(ask: Ask, reply: Reply) -> Iterator[tuple[str, Json, bool]]:
    item = _item(ask, reply)
    place: Json = {"output_index": 0}
    here: Json = {"item_id": item["id"], **place}
    yield "response.created", {"response": _begun(ask)}, False
    yield "response.in_progress", {"response": _begun(ask)}, False
    if isinstance(reply, Say):
        here["content_index"] = 0
        opened = item | {"status": "in_progress", "content": []}
        yield "response.output_item.added", place | {"item": opened}, False
        yield "response.content_part.added", here | {"part": _part("")}, False
        for word in words(reply.text):
            yield "response.output_text.delta", here | {"delta": word, "logprobs": []}, True
        yield "response.output_text.done", here | {"text": reply.text, "logprobs": []}, False
        yield "response.content_part.done", here | {"part": _part(reply.text)}, False
    else:
        arguments = item["arguments"]
        opened = item | {"status": "in_progress", "arguments": ""}
        yield "response.output_item.added", place | {"item": opened}, False
        yield "response.function_call_arguments.delta", here | {"delta": arguments}, True
        done = here | {"name": reply.name, "arguments": arguments}
        yield "response.function_call_arguments.done", done, False
    yield "response.output_item.done", place | {"item": item}, False
    yield "response.completed", {"response": plain(ask, reply)}, False


RESPONSES = Dialect(parse=parse, plain=plain, frames=frames, refusal=openai.refusal)
