"""A client for the stand-in, and each dialect as a test speaks it."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from deploy.model.server import stand_in
from tests.deploy.model import speaking_openai, speaking_others

Json = dict[str, Any]
KEYS = {"authorization": "Bearer any-key"}


class Client:
    """Sends one request to a fresh stand-in."""

    def send(
        self, method: str, path: str, *, headers: dict[str, str] | None = None, **more: Any
    ) -> httpx.Response:
        async def go() -> httpx.Response:
            transport = httpx.ASGITransport(stand_in())
            async with httpx.AsyncClient(transport=transport, base_url="http://model") as client:
                return await client.request(
                    method, path, headers=KEYS if headers is None else headers, **more
                )

        return asyncio.run(go())

    def post(self, path: str, body: Any, **more: Any) -> httpx.Response:
        return self.send("POST", path, json=body, **more)

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.send("GET", path, **more)


@dataclass(frozen=True)
class Spoken:
    """One dialect: how it asks, and where its answers stand. `said` reads plain answers,
    `heard` puts a stream together; both give (text, tool name, tool arguments)."""

    name: str
    path: str
    stream_path: str
    own_header: str
    ask: Callable[..., Json]
    tool_result: Callable[[str, str], list[Json]]
    said: Callable[[Json], tuple[str, str, Json]]
    heard: Callable[[list[Json]], tuple[str, str, Json]]
    usage: Callable[[Json], tuple[int, int]]
    usage_heard: Callable[[list[Json]], tuple[int, int]]


def events(response: httpx.Response) -> list[Json]:
    """The data of a stream's events; an `event:` line must say the data's own type."""
    found = []
    for block in response.text.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines())
        if lines["data"] == "[DONE]":
            continue
        data = json.loads(lines["data"])
        assert lines.get("event") == data.get("type")
        found.append(data)
    return found


DIALECTS = [
    Spoken(
        "openai",
        "/v1/chat/completions",
        "/v1/chat/completions",
        "authorization",
        speaking_openai.chat_ask,
        speaking_openai.chat_result,
        speaking_openai.chat_said,
        speaking_openai.chat_heard,
        speaking_openai.chat_usage,
        lambda e: speaking_openai.chat_usage(e[-1]),
    ),
    Spoken(
        "responses",
        "/v1/responses",
        "/v1/responses",
        "authorization",
        speaking_openai.responses_ask,
        speaking_openai.responses_result,
        speaking_openai.responses_said,
        speaking_openai.responses_heard,
        speaking_openai.responses_usage,
        lambda e: speaking_openai.responses_usage(e[-1]["response"]),
    ),
    Spoken(
        "anthropic",
        "/v1/messages",
        "/v1/messages",
        "x-api-key",
        speaking_others.anthropic_ask,
        speaking_others.anthropic_result,
        speaking_others.anthropic_said,
        speaking_others.anthropic_heard,
        speaking_others.anthropic_usage,
        speaking_others.anthropic_usage_heard,
    ),
    Spoken(
        "gemini",
        "/v1beta/models/m:generateContent",
        "/v1beta/models/m:streamGenerateContent?alt=sse",
        "x-goog-api-key",
        speaking_others.gemini_ask,
        speaking_others.gemini_result,
        speaking_others.gemini_said,
        speaking_others.gemini_heard,
        speaking_others.gemini_usage,
        lambda e: speaking_others.gemini_usage(e[-1]),
    ),
]


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture(params=DIALECTS, ids=lambda dialect: dialect.name)
def dialect(request: pytest.FixtureRequest) -> Spoken:
    return request.param


@pytest.fixture
def answer(client: Client, dialect: Spoken) -> Callable[..., tuple[str, str, Json]]:
    """Asks plainly and streamed; both must say the same, and that is the answer."""

    def ask(*said: str, **more: Any) -> tuple[str, str, Json]:
        body = dialect.ask(*said, **more)
        plain = client.post(dialect.path, body)
        assert plain.status_code == 200, plain.text
        streamed = client.post(dialect.stream_path, streaming(dialect, body))
        assert streamed.headers["content-type"].startswith("text/event-stream")
        found = events(streamed)
        assert dialect.heard(found) == dialect.said(plain.json())
        assert dialect.usage_heard(found) == dialect.usage(plain.json())
        return dialect.said(plain.json())

    return ask


def streaming(dialect: Spoken, body: Json) -> Json:
    if dialect.name == "gemini":
        return body  # Its path says so.
    wants_usage = {"stream_options": {"include_usage": True}} if dialect.name == "openai" else {}
    return body | {"stream": True} | wants_usage
