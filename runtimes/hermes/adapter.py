"""Chat with Hermes through its sessions API; a conversation is a session."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any
from urllib.parse import quote

import httpx

from runtimes.adapter import (
    CHECK,
    ChatEvent,
    Completed,
    Conversation,
    ConversationNotFound,
    Endpoint,
    Failed,
    Message,
    RuntimeRefused,
    RuntimeUnreachable,
)
from runtimes.asking import exchange
from runtimes.hermes.reading import (
    answer_of,
    chat_event_of,
    conversation_of,
    message_of,
    understood,
)
from runtimes.reading import an_object, objects, parsed
from runtimes.sse import server_events

# Hermes takes session ids from us, so "the main one" needs no look-up and cannot be made twice.
MAIN, MAIN_TITLE = "main", "Main"
CHECK_TITLE = "Checks by the platform"
SOURCE = "api_server"
PAGE, MOST_PAGES = 200, 5
# A turn may be silent for long, but Hermes sends a keep-alive comment every 30 s.
TIMEOUT = httpx.Timeout(10.0, read=120.0)


class HermesAdapter:
    async def conversations(
        self, client: httpx.AsyncClient, endpoint: Endpoint
    ) -> list[Conversation]:
        found: list[Conversation] = []
        for page in range(MOST_PAGES):
            query = f"?limit={PAGE}&offset={page * PAGE}&source={SOURCE}"
            body = await ask(client, endpoint, "GET", f"/api/sessions{query}")
            with understood():
                found += map(conversation_of, objects(body.get("data", [])))
            if not body.get("has_more"):
                break
        return found

    async def main(self, client: httpx.AsyncClient, endpoint: Endpoint) -> str:
        return MAIN

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
        with understood():
            return [
                message for item in objects(body.get("data", [])) if (message := message_of(item))
            ]

    async def check(
        self, client: httpx.AsyncClient, endpoint: Endpoint, text: str
    ) -> AsyncGenerator[ChatEvent, None]:
        await ensure(client, endpoint, CHECK, CHECK_TITLE)
        async with aclosing(self.stream(client, endpoint, text, CHECK)) as events:
            async for event in events:
                yield event

    async def stream(
        self,
        client: httpx.AsyncClient,
        endpoint: Endpoint,
        text: str,
        conversation: str | None = None,
    ) -> AsyncGenerator[ChatEvent, None]:
        if conversation is None:
            await ensure(client, endpoint, MAIN, MAIN_TITLE)
        path = f"{path_of(conversation)}/chat/stream"
        answer: Completed | None = None
        try:
            async with (
                exchange(
                    client, endpoint, "POST", path, {"message": text}, timeout=TIMEOUT
                ) as response,
                aclosing(server_events(response)) as events,
            ):
                async for event in events:
                    with understood():
                        data = an_object(await parsed(event.data))
                        if event.name == "assistant.completed":
                            answer = answer_of(data)
                        found = chat_event_of(event.name, data, answer)
                    if found:
                        yield found
                    if isinstance(found, Completed | Failed):
                        return
        except RuntimeRefused as refusal:
            if refusal.status == httpx.codes.NOT_FOUND:
                raise ConversationNotFound(conversation or MAIN) from refusal
            raise
        raise RuntimeUnreachable("The agent's runtime ended in the middle of its answer.")


async def ensure(client: httpx.AsyncClient, endpoint: Endpoint, name: str, title: str) -> None:
    """A session of this id exists afterwards; 409 means it did before."""
    body = {"id": name, "title": title}
    try:
        await ask(client, endpoint, "POST", "/api/sessions", body)
    except RuntimeRefused as refusal:
        if refusal.status == httpx.codes.CONFLICT:
            return
        if refusal.status != httpx.codes.BAD_REQUEST:
            raise
        # The title is taken by another session: the id is what counts.
        await ask(client, endpoint, "POST", "/api/sessions", {"id": name})


def path_of(conversation: str | None) -> str:
    return f"/api/sessions/{quote(MAIN if conversation is None else conversation, safe='')}"


async def ask(
    client: httpx.AsyncClient,
    endpoint: Endpoint,
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
) -> dict[str, Any]:
    async with exchange(client, endpoint, method, path, body, timeout=TIMEOUT) as response:
        answer = await response.aread()
    with understood():
        return an_object(await parsed(answer))


adapter = HermesAdapter()
