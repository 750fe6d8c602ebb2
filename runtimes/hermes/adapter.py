"""Chat with Hermes through its sessions API; a conversation is a session."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import quote

import httpx

from runtimes.adapter import (
    ChatEvent,
    Completed,
    Conversation,
    ConversationNotFound,
    Delta,
    Endpoint,
    Failed,
    Message,
    RuntimeRefused,
    RuntimeUnreachable,
    ToolUse,
)
from runtimes.sse import server_events

# Hermes takes session ids from us, so "the main one" needs no look-up and cannot be made twice.
MAIN, MAIN_TITLE = "main", "Main"
SOURCE = "api_server"
PAGE, MOST_PAGES = 200, 5
# A turn may be silent for long, but Hermes sends a keep-alive comment every 30 s.
TIMEOUT = httpx.Timeout(10.0, read=120.0)
ROLES: dict[str, Literal["user", "assistant", "tool"]] = {
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


class HermesAdapter:
    async def conversations(
        self, client: httpx.AsyncClient, endpoint: Endpoint
    ) -> list[Conversation]:
        found: list[Conversation] = []
        for page in range(MOST_PAGES):
            query = f"?limit={PAGE}&offset={page * PAGE}&source={SOURCE}"
            body = await ask(client, endpoint, "GET", f"/api/sessions{query}")
            found += [conversation_of(session) for session in body.get("data", [])]
            if not body.get("has_more"):
                break
        return found

    async def history(
        self, client: httpx.AsyncClient, endpoint: Endpoint, conversation: str | None = None
    ) -> list[Message]:
        try:
            body = await ask(client, endpoint, "GET", f"{path_of(conversation)}/messages")
        except RuntimeRefused as refusal:
            if refusal.status != httpx.codes.NOT_FOUND:
                raise
            if conversation is None:
                return []
            raise ConversationNotFound(conversation) from refusal
        return [message for item in body.get("data", []) if (message := message_of(item))]

    async def stream(
        self,
        client: httpx.AsyncClient,
        endpoint: Endpoint,
        text: str,
        conversation: str | None = None,
    ) -> AsyncIterator[ChatEvent]:
        if conversation is None:
            await ensure_main(client, endpoint)
        path = f"{path_of(conversation)}/chat/stream"
        answer: Completed | None = None
        try:
            async with exchange(client, endpoint, "POST", path, {"message": text}) as response:
                async for event in server_events(response):
                    data = json.loads(event.data)
                    if event.name == "assistant.completed":
                        answer = Completed(data["session_id"], data.get("content") or "")
                    elif event.name == "run.completed" and answer:
                        yield outcome(answer, data.get("messages") or [])
                        return
                    elif event.name == "error":
                        yield failed(data.get("message") or "The turn failed.")
                        return
                    elif chat_event := chat_event_of(event.name, data):
                        yield chat_event
        except RuntimeRefused as refusal:
            if refusal.status == httpx.codes.NOT_FOUND:
                raise ConversationNotFound(conversation or MAIN) from refusal
            raise
        except (ValueError, KeyError) as error:
            raise RuntimeRefused(httpx.codes.OK, "The stream is not what Hermes sends.") from error
        raise RuntimeUnreachable("The agent's runtime ended in the middle of its answer.")


def outcome(answer: Completed, transcript: list[dict[str, Any]]) -> Completed | Failed:
    """Hermes calls a failed turn completed, with the error as its text; the transcript tells.

    What the model said is in the transcript; what Hermes says in its place is not. (A reply that
    names a media file is rewritten on its way out and cannot be compared.)
    """
    said = text_of(transcript[-1].get("content")) if transcript else ""
    if said.strip() == answer.text.strip() or "MEDIA:" in said:
        return answer
    return failed(answer.text)


def failed(message: str) -> Failed:
    """Sorted by the model provider's status, where Hermes tells it."""
    status = re.search(r"\bHTTP (\d{3})\b", message)
    match int(status[1]) if status else 0:
        case 401 | 403:
            code = "model_key_refused"
        case 429:
            code = "model_rate_limited"
        case 0:
            code = "turn_failed"
        case _:
            code = "model_failed"
    return Failed(code, message)


async def ensure_main(client: httpx.AsyncClient, endpoint: Endpoint) -> None:
    """The main session exists afterwards; 409 means it did before."""
    body = {"id": MAIN, "title": MAIN_TITLE}
    try:
        await ask(client, endpoint, "POST", "/api/sessions", body)
    except RuntimeRefused as refusal:
        if refusal.status == httpx.codes.CONFLICT:
            return
        if refusal.status != httpx.codes.BAD_REQUEST:
            raise
        # The title is taken by another session: the id is what counts.
        await ask(client, endpoint, "POST", "/api/sessions", {"id": MAIN})


def path_of(conversation: str | None) -> str:
    return f"/api/sessions/{quote(MAIN if conversation is None else conversation, safe='')}"


def conversation_of(session: dict[str, Any]) -> Conversation:
    return Conversation(
        id=str(session["id"]),
        title=session.get("title") or session.get("preview") or "",
        updated_at=moment(session.get("last_active") or session.get("started_at")),
        messages=session.get("message_count"),
    )


def message_of(item: dict[str, Any]) -> Message | None:
    """A message people can read; None for a bare tool call and for Hermes' own notes."""
    role, text = ROLES.get(item.get("role", "")), text_of(item.get("content"))
    if role is None or not text:
        return None
    return Message(id=str(item.get("id")), role=role, text=text, at=moment(item.get("timestamp")))


def text_of(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def moment(seconds: Any) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if isinstance(seconds, int | float) else None


def chat_event_of(name: str, data: dict[str, Any]) -> Delta | ToolUse | None:
    """What an event in the middle of a turn means to us; None for those that carry nothing new."""
    match name:
        case "assistant.delta":
            return Delta(data["delta"])
        case "tool.started":
            return ToolUse(data.get("tool_name") or "", "started", data.get("preview") or "")
        case "tool.completed" | "tool.failed":
            return ToolUse(data.get("tool_name") or "", "completed", data.get("preview") or "")
    return None


async def ask(
    client: httpx.AsyncClient,
    endpoint: Endpoint,
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
) -> dict[str, Any]:
    async with exchange(client, endpoint, method, path, body) as response:
        try:
            answer: dict[str, Any] = json.loads(await response.aread())
        except ValueError as error:
            raise RuntimeRefused(response.status_code, "The answer is not JSON.") from error
    return answer


@asynccontextmanager
async def exchange(
    client: httpx.AsyncClient,
    endpoint: Endpoint,
    method: str,
    path: str,
    body: dict[str, Any] | None,
) -> AsyncIterator[httpx.Response]:
    """One request whose answer is read inside; httpx's errors become ours here and only here."""
    headers = {"Authorization": f"Bearer {endpoint.token}"}
    url = f"{endpoint.base_url}{path}"
    try:
        async with client.stream(
            method, url, headers=headers, json=body, timeout=TIMEOUT
        ) as response:
            if response.is_error:
                raise RuntimeRefused(response.status_code, reason(await response.aread()))
            yield response
    except httpx.HTTPError as error:
        problem = f"The agent's runtime does not answer ({type(error).__name__})."
        raise RuntimeUnreachable(problem) from error


def reason(body: bytes) -> str:
    """Hermes' own message out of an error body, or the start of whatever came."""
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return body[:200].decode(errors="replace")


adapter = HermesAdapter()
