"""OpenAI's chat completions and what its two APIs share: errors and the list of models."""

import json
from collections.abc import Iterator, Mapping

from deploy.model import fields
from deploy.model.brain import Say, Turn
from deploy.model.exchange import (
    CREATED,
    Ask,
    Dialect,
    Frame,
    Json,
    Reply,
    offered,
    reply_tokens,
    seed,
    tokens,
    words,
)
from deploy.model.fields import Body
from deploy.model.rejected import Rejected

# status: (type, code)
ERRORS = {
    401: ("invalid_request_error", "invalid_api_key"),
    402: ("insufficient_quota", "insufficient_quota"),
    429: ("requests", "rate_limit_exceeded"),
}


def refusal(error: Rejected) -> tuple[int, Json]:
    usual = ("server_error" if error.status >= 500 else "invalid_request_error", None)
    kind, code = ERRORS.get(error.status, usual)
    told = {"message": error.message, "type": kind, "param": error.param or None}
    return error.status, {"error": told | {"code": error.code or code}}


def model(name: str) -> Json:
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "roost"}


def models() -> Json:
    return {"object": "list", "data": [model(name) for name in offered("openai", "custom")]}


def parse(body: Body, _path: Mapping[str, str]) -> Ask:
    named = fields.text(body, "model")
    turns = [
        turn for item in fields.objects(body, "messages", required=True) for turn in _turn(item)
    ]
    options = fields.optional(body, "stream_options")
    return Ask(
        model=named,
        turns=turns,
        tools=_tools(body),
        stream=fields.flag(body, "stream"),
        seed=seed(body, "stream", "stream_options"),
        prompt_tokens=tokens([body.get("messages"), body.get("tools")]),
        include_usage=fields.flag(options, "include_usage"),
    )


def _turn(message: Body) -> list[Turn]:
    text = fields.prose(message.get("content"), "content")
    match fields.text(message, "role"):
        case "user":
            return [Turn("user", text)]
        case "assistant":
            return [Turn("assistant", text)]
        case "tool" | "function":
            return [Turn("tool", text)]
        case "system" | "developer":
            return []
    raise fields.wrong("role", "system, developer, user, assistant or tool")


def _tools(body: Body) -> list[str]:
    offered = [tool for tool in fields.objects(body, "tools") if tool.get("type") == "function"]
    names = [
        fields.text(fields.mapping(tool.get("function"), "function"), "name") for tool in offered
    ]
    return [] if body.get("tool_choice") == "none" else names


def _usage(ask: Ask, reply: Reply) -> Json:
    out = reply_tokens(reply)
    return {
        "prompt_tokens": ask.prompt_tokens,
        "completion_tokens": out,
        "total_tokens": ask.prompt_tokens + out,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def plain(ask: Ask, reply: Reply) -> Json:
    message: Json = {"role": "assistant", "content": None, "refusal": None}
    if isinstance(reply, Say):
        message["content"] = reply.text
    else:
        called = {"name": reply.name, "arguments": json.dumps(reply.arguments)}
        message["tool_calls"] = [{"id": ask.id("call_"), "type": "function", "function": called}]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(reply)}
    return {
        "id": ask.id("chatcmpl-"),
        "object": "chat.completion",
        "created": CREATED,
        "model": ask.model,
        "choices": [choice],
        "usage": _usage(ask, reply),
    }


def _finish(reply: Reply) -> str:
    return "stop" if isinstance(reply, Say) else "tool_calls"


def frames(ask: Ask, reply: Reply) -> Iterator[Frame]:
    def chunk(delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return head | {"choices": [choice]}

    head: Json = {
        "id": ask.id("chatcmpl-"),
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": ask.model,
    } | ({"usage": None} if ask.include_usage else {})
    if isinstance(reply, Say):
        yield Frame(chunk({"role": "assistant", "content": ""}))
        for word in words(reply.text):
            yield Frame(chunk({"content": word}), paced=True)
    else:
        named = {"name": reply.name, "arguments": ""}
        call = {"index": 0, "id": ask.id("call_"), "type": "function", "function": named}
        yield Frame(chunk({"role": "assistant", "content": None, "tool_calls": [call]}))
        more = {"index": 0, "function": {"arguments": json.dumps(reply.arguments)}}
        yield Frame(chunk({"tool_calls": [more]}), paced=True)
    yield Frame(chunk({}, _finish(reply)))
    if ask.include_usage:
        yield Frame(head | {"choices": [], "usage": _usage(ask, reply)})
    yield Frame("[DONE]")


CHAT = Dialect(parse=parse, plain=plain, frames=frames, refusal=refusal)
