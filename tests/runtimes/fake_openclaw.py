"""The part of OpenClaw's API the adapter uses, with the answers seen from OpenClaw 2026.9.6."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import unquote

import httpx

from runtimes.adapter import Endpoint

TOKEN = "t" * 48
ENDPOINT = Endpoint("http://10.0.0.2:18789", TOKEN)
MAIN = "agent:main:main"
RUN = "chatcmpl_1"
Data = dict[str, Any]
INTERNAL: Data = {"error": {"message": "internal error", "type": "api_error"}}
BEGAN = 1796069052  # seconds


class FakeOpenClaw:
    """Keeps transcripts by session key; `turn` is what the next turn sends, `used` what its
    transcript gets meanwhile."""

    def __init__(self) -> None:
        self.transcripts: dict[str, list[Data]] = {}
        self.listed: list[Data] = []
        self.turn: list[Data | str] = []
        self.used: list[Data] = []
        self.said: list[tuple[str, str]] = []
        self.busy = 0  # turns that fail before they begin
        self._all_told = asyncio.Event()

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(self.respond))

    def answers(self, *parts: str) -> None:
        whole = [chunk({"content": part}) for part in parts]
        self.turn = [chunk({"role": "assistant"}), *whole, chunk({}, "stop"), "[DONE]"]

    def fails(self, kind: str, message: str) -> None:
        error = {"error": {"message": message, "type": kind}}
        self.turn = [chunk({"role": "assistant"}), error, "[DONE]"]

    async def respond(self, request: httpx.Request) -> httpx.Response:
        if request.headers["authorization"] != f"Bearer {TOKEN}":
            return refusal(401, "The token is wrong.")
        match request.method, request.url.raw_path.decode().partition("?")[0].split("/")[1:]:
            case "POST", ["v1", "chat", "completions"]:
                return self.chat(request)
            case "GET", ["sessions", key, "history"]:
                return await self.history(unquote(key), request)
            case "POST", ["tools", "invoke"]:
                return self.invoke(json.loads(request.content))
        return refusal(404, "Not Found")

    def chat(self, request: httpx.Request) -> httpx.Response:
        key, asked = request.headers["x-openclaw-session-key"], json.loads(request.content)
        self.said.append((key, asked["messages"][-1]["content"]))
        self.transcripts.setdefault(key, [])
        if self.busy:
            self.busy -= 1
            return streamed(self.chunks([chunk({"role": "assistant"}), INTERNAL, "[DONE]"]))
        return streamed(self.chunks(self.turn))

    async def chunks(self, turn: list[Data | str]) -> AsyncIterator[str]:
        for place, data in enumerate(turn):
            if place == 1 and self.used:
                await self._all_told.wait()
            told = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
            yield f"data: {told}\n\n"

    async def history(self, key: str, request: httpx.Request) -> httpx.Response:
        if key not in self.transcripts:
            return refusal(404, f"Session not found: {key}")
        limit = int(request.url.params["limit"])
        if request.headers["accept"] == "text/event-stream":
            return streamed(self.growing(key, limit))
        return httpx.Response(200, json=page(key, self.transcripts[key][-limit:]))

    async def growing(self, key: str, limit: int) -> AsyncIterator[str]:
        yield "retry: 1000\n\n"
        for message in self.used:
            self.transcripts[key].append(message)
            told = json.dumps(page(key, self.transcripts[key][-limit:]))
            yield f"event: history\ndata: {told}\n\n: keepalive\n\n"
        self._all_told.set()
        await asyncio.Event().wait()

    def invoke(self, asked: Data) -> httpx.Response:
        assert asked["tool"] == "sessions_list"
        offset, limit = asked["args"]["offset"], asked["args"]["limit"]
        rows = self.listed[offset : offset + limit]
        more = offset + limit < len(self.listed)
        details = {"count": len(rows), "sessions": rows, "hasMore": more, "limitApplied": limit}
        after = {"nextOffset": offset + limit} if more else {}
        return httpx.Response(200, json={"ok": True, "result": {"details": details | after}})


def streamed(events: AsyncIterator[str]) -> httpx.Response:
    async def content() -> AsyncIterator[bytes]:
        async for event in events:
            yield event.encode()

    return httpx.Response(200, content=content())


def page(key: str, messages: list[Data]) -> Data:
    return {"sessionKey": key, "items": messages, "messages": messages, "hasMore": False}


def chunk(delta: Data, finish: str | None = None) -> Data:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    about = {"id": RUN, "object": "chat.completion.chunk", "created": BEGAN}
    return about | {"choices": [choice]}


def asked(text: str, second: int, **more: Any) -> Data:
    about = {"id": f"u-{second}", "senderIsOwner": True}
    told = {"role": "user", "content": text, "timestamp": second * 1000}
    return {**told, "__openclaw": about, **more}


def called(call: str, arguments: Data, run: str = RUN) -> Data:
    part = {"type": "toolCall", "id": call, "name": "exec", "arguments": arguments}
    return {"role": "assistant", "content": [part], "__openclaw": {"id": f"m-{call}", "runId": run}}


def result(call: str, text: str, run: str = RUN) -> Data:
    content = [{"type": "text", "text": text}]
    about = {"id": f"r-{call}", "runId": run}
    told = {"toolCallId": call, "toolName": "exec", "content": content, "isError": False}
    return {"role": "toolResult", **told, "__openclaw": about}


def refusal(status: int, message: str) -> httpx.Response:
    error = {"type": "error", "message": message}
    return httpx.Response(status, json={"ok": False, "error": error})
