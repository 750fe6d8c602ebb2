"""Chat with Hermes through its sessions API; a conversation is a session."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx

from runtimes.adapter import (
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
from runtimes.capped import AnswerTooLong
from runtimes.hermes.reading import (
    answer_of,
    chat_event_of,
    conversation_of,
    message_of,
    objects,
    parsed,
    reason,
    understood,
)
from runtimes.sse import server_events

# Hermes takes session ids from us, so "the main one" needs no look-up and cannot be made twice.
MAIN, MAIN_TITLE = "main", "Main"
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

    async def stream(
        self,
        client: httpx.AsyncClient,
        endpoint: Endpoint,
        text: str,
        conversation: str | None = None,
    ) -> AsyncGenerator[ChatEvent, None]:
        if conversation is None:
            await ensure_main(client, endpoint)
        path = f"{path_of(conversation)}/chat/stream"
        answer: Completed | None = None
        try:
            async with (
                exchange(client, endpoint, "POST", path, {"message": text}) as response,
                aclosing(server_events(response)) as events,
            ):
                async for event in events:
                    with understood():
                        data = await parsed(event.data)
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


async def ask(
    client: httpx.AsyncClient,
    endpoint: Endpoint,
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
) -> dict[str, Any]:
    async with exchange(client, endpoint, method, path, body) as response:
        answer = await response.aread()
    with understood():
        return await parsed(answer)


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
    except AnswerTooLong as error:
        raise RuntimeRefused(httpx.codes.OK, "Its answer is longer than we read.") from error
    except httpx.HTTPError as error:
        problem = f"The agent's runtime does not answer ({type(error).__name__})."
        raise RuntimeUnreachable(problem) from error


adapter = HermesAdapter()
