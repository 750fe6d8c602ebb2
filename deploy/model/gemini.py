"""Gemini's generateContent, plain and streamed, its token count, errors and list of models."""

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
    tokens,
    words,
)
from deploy.model.exchange import seed as seed_of
from deploy.model.fields import Body, canonical
from deploy.model.rejected import Rejected

INVALID_KEY = "API_KEY_INVALID"
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    402: "FAILED_PRECONDITION",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}


def refusal(error: Rejected) -> tuple[int, Json]:
    usual = "INTERNAL" if error.status >= 500 else "INVALID_ARGUMENT"
    status = STATUSES.get(error.status, usual)
    told: Json = {"code": error.status, "message": error.message, "status": status}
    if error.code:
        kind = "type.googleapis.com/google.rpc.ErrorInfo"
        told["details"] = [{"@type": kind, "reason": error.code, "domain": "googleapis.com"}]
    return error.status, {"error": told}


def model(name: str) -> Json:
    return {
        "name": f"models/{name}",
        "version": "1",
        "displayName": "Roost stand-in" if name == MODEL else name,
        "description": "Answers from the conversation only.",
        "inputTokenLimit": 1_000_000,
        "outputTokenLimit": 8192,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    }


def models() -> Json:
    return {"models": [model(name) for name in offered("gemini")]}


def parse(body: Body, path: Mapping[str, str]) -> Ask:
    contents = fields.objects(body, "contents", required=True)
    told = [_either(body, "systemInstruction", "system_instruction"), contents, body.get("tools")]
    return Ask(
        model=path["model"],
        turns=[turn for content in contents for turn in _turns(content)],
        tools=_tools(body),
        stream=path["method"] == "streamGenerateContent",
        seed=f"{path['model']} {seed_of(body)}",
        prompt_tokens=tokens(told),
    )


def _either(body: Body, camel: str, snake: str) -> object:
    """The API reads both spellings."""
    return body.get(camel, body.get(snake))


def _turns(content: Body) -> list[Turn]:
    """One turn, or where there are function responses those first and then the words."""
    role = content.get("role") or "user"
    parts = fields.objects(content, "parts", required=True)
    said = fields.prose(list(parts), "parts")
    if role == "model":
        return [Turn("assistant", said)]
    if role not in ("user", "function"):
        raise fields.wrong("role", "user or model")
    responses = [_either(part, "functionResponse", "function_response") for part in parts]
    results = [
        Turn("tool", _result(fields.mapping(response, "functionResponse")))
        for response in responses
        if response is not None
    ]
    return [*results, Turn("user", said)] if said or not results else results


def _result(response: Body) -> str:
    answer = fields.optional(response, "response")
    for key in ("output", "result", "content", "error"):
        if isinstance(value := answer.get(key), str):
            return value
    return canonical(answer) if answer else ""


def _tools(body: Body) -> list[str]:
    names = []
    for tool in fields.objects(body, "tools"):
        key = "functionDeclarations" if "functionDeclarations" in tool else "function_declarations"
        names += [fields.text(declared, "name") for declared in fields.objects(tool, key)]
    config = fields.optional(body, "toolConfig")
    mode = fields.optional(config, "functionCallingConfig").get("mode")
    return [] if mode == "NONE" else names


def count(body: Body, path: Mapping[str, str]) -> Json:
    inner = fields.optional(body, "generateContentRequest") or body
    return {"totalTokens": parse(inner, path).prompt_tokens}


def _chunk(ask: Ask, reply: Reply, part: Json, *, last: bool) -> Json:
    candidate: Json = {"content": {"parts": [part], "role": "model"}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    out = reply_tokens(reply) if last else 0
    usage = {"promptTokenCount": ask.prompt_tokens, "totalTokenCount": ask.prompt_tokens + out}
    return {
        "candidates": [candidate],
        "usageMetadata": usage | ({"candidatesTokenCount": out} if last else {}),
        "modelVersion": ask.model,
        "responseId": ask.id(""),
    }


def plain(ask: Ask, reply: Reply) -> Json:
    if isinstance(reply, Say):
        return _chunk(ask, reply, {"text": reply.text}, last=True)
    called = {"name": reply.name, "args": reply.arguments}
    return _chunk(ask, reply, {"functionCall": called}, last=True)


def frames(ask: Ask, reply: Reply) -> Iterator[Frame]:
    if isinstance(reply, Say):
        for word in words(reply.text):
            yield Frame(_chunk(ask, reply, {"text": word}, last=False), paced=True)
        yield Frame(_chunk(ask, reply, {"text": ""}, last=True))
    else:
        yield Frame(plain(ask, reply), paced=True)


SSE = Dialect(parse=parse, plain=plain, frames=frames, refusal=refusal)
LIST = Dialect(parse=parse, plain=plain, frames=frames, refusal=refusal, as_list=True)
