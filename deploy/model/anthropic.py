"""Anthropic's messages API, its token count, its errors and its list of models."""

import json
from collections.abc import Iterator, Mapping

from deploy.model import fields
from deploy.model.brain import Say, Turn
from deploy.model.exchange import (
    MODEL,
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

ERRORS = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def refusal(error: Rejected) -> tuple[int, Json]:
    usual = "api_error" if error.status >= 500 else "invalid_request_error"
    message = f"{error.param}: {error.message}" if error.param else error.message
    told = {"type": ERRORS.get(error.status, usual), "message": message}
    return error.status, {"type": "error", "error": told, "request_id": None}


def model(name: str) -> Json:
    shown = "Roost stand-in" if name == MODEL else name
    return {
        "type": "model",
        "id": name,
        "display_name": shown,
        "created_at": "2026-01-01T00:00:00Z",
    }


def models() -> Json:
    names = offered("anthropic")
    data = [model(name) for name in names]
    return {"data": data, "has_more": False, "first_id": names[0], "last_id": names[-1]}


def parse(body: Body, _path: Mapping[str, str]) -> Ask:
    limit = body.get("max_tokens")
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise fields.wrong("max_tokens", "a whole number of at least 1")
    return _parse(body)


def _parse(body: Body) -> Ask:
    named = fields.text(body, "model")
    messages = fields.objects(body, "messages", required=True)
    fields.prose(body.get("system"), "system")
    return Ask(
        model=named,
        turns=[turn for message in messages for turn in _message(message)],
        tools=_tools(body),
        stream=fields.flag(body, "stream"),
        seed=seed(body, "stream"),
        prompt_tokens=tokens([body.get(key) for key in ("system", "messages", "tools")]),
    )


def _message(message: Body) -> list[Turn]:
    """One turn, or in a user message its tool results first and then its words."""
    role = fields.text(message, "role")
    content = message.get("content")
    if content is None:
        raise fields.wrong("content", "a string or a list of blocks")
    said = fields.prose(content, "content")
    if role == "assistant":
        return [Turn("assistant", said)]
    if role == "system":  # Newer models take reminders between the turns; Claude Code sends them.
        return []
    if role != "user":
        raise fields.wrong("role", "user or assistant")
    blocks = content if isinstance(content, list) else []
    results = [
        Turn("tool", fields.prose(block.get("content"), "tool_result.content"))
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "tool_result"
    ]
    return [*results, Turn("user", said)] if said or not results else results


def _tools(body: Body) -> list[str]:
    names = [fields.text(tool, "name") for tool in fields.objects(body, "tools")]
    return [] if fields.optional(body, "tool_choice").get("type") == "none" else names


def count(body: Body, _path: Mapping[str, str]) -> Json:
    return {"input_tokens": _parse(body).prompt_tokens}


def _usage(ask: Ask, out: int) -> Json:
    cache = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {"input_tokens": ask.prompt_tokens, **cache, "output_tokens": out}


def _block(ask: Ask, reply: Reply) -> Json:
    if isinstance(reply, Say):
        return {"type": "text", "text": reply.text}
    called = {"name": reply.name, "input": reply.arguments}
    return {"type": "tool_use", "id": ask.id("toolu_"), **called}


def _stop(reply: Reply) -> str:
    return "end_turn" if isinstance(reply, Say) else "tool_use"


def _begun(ask: Ask) -> Json:
    return {
        "id": ask.id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": ask.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(ask, 1),
    }


def plain(ask: Ask, reply: Reply) -> Json:
    usage = _usage(ask, reply_tokens(reply))
    done = {"content": [_block(ask, reply)], "stop_reason": _stop(reply), "usage": usage}
    return _begun(ask) | done


def frames(ask: Ask, reply: Reply) -> Iterator[Frame]:
    for kind, data, paced in _events(ask, reply):
        yield Frame({"type": kind} | data, event=kind, paced=paced)


def _events(ask: Ask, reply: Reply) -> Iterator[tuple[str, Json, bool]]:
    yield "message_start", {"message": _begun(ask)}, False
    opened = _block(ask, reply)
    opened["text" if isinstance(reply, Say) else "input"] = "" if isinstance(reply, Say) else {}
    yield "content_block_start", {"index": 0, "content_block": opened}, False
    yield "ping", {}, False
    for delta in _deltas(reply):
        yield "content_block_delta", {"index": 0, "delta": delta}, True
    yield "content_block_stop", {"index": 0}, False
    stop = {"stop_reason": _stop(reply), "stop_sequence": None}
    # Cumulative, as the provider counts: it stands for the whole message.
    usage = {"output_tokens": reply_tokens(reply)}
    yield "message_delta", {"delta": stop, "usage": usage}, False
    yield "message_stop", {}, False


def _deltas(reply: Reply) -> Iterator[Json]:
    if isinstance(reply, Say):
        for word in words(reply.text):
            yield {"type": "text_delta", "text": word}
    else:
        yield {"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)}


MESSAGES = Dialect(parse=parse, plain=plain, frames=frames, refusal=refusal)
