"""Chat and investigations through the host in OpenSRE's container (see `host/`)."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
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
    Investigation,
    Message,
    RuntimeRefused,
    RuntimeUnreachable,
)
from runtimes.asking import exchange
from runtimes.opensre.reading import (
    chat_event_of,
    conversation_of,
    investigation_of,
    message_of,
    understood,
)
from runtimes.reading import an_object, objects, parsed
from runtimes.sse import server_events

# The host makes it on its first use.
MAIN = "main"
# A turn may be silent for long, but the host sends a keep-alive comment every 15 s.
TIMEOUT = httpx.Timeout(10.0, read=120.0)


class OpenSREAdapter:
    async def conversations(
        self, client: httpx.AsyncClient, endpoint: Endpoint
    ) -> list[Conversation]:
        body = await ask(client, endpoint, "/conversations")
        with understood():
            return [conversation_of(item) for item in objects(body["conversations"])]

    async def main(self, client: httpx.AsyncClient, endpoint: Endpoint) -> str:
        return MAIN

    async def history(
        self, client: httpx.AsyncClient, endpoint: Endpoint, conversation: str | None = None
    ) -> list[Message]:
        try:
            body = await ask(client, endpoint, messages_of(conversation))
        except RuntimeRefused as refusal:
            if refusal.status != httpx.codes.NOT_FOUND:
                raise
            if conversation is None:
                return []
            raise ConversationNotFound(conversation) from refusal
        with understood():
            return [message_of(item) for item in objects(body["messages"])]

    async def stream(
        self,
        client: httpx.AsyncClient,
        endpoint: Endpoint,
        text: str,
        conversation: str | None = None,
    ) -> AsyncGenerator[ChatEvent, None]:
        path = messages_of(conversation)
        try:
            async with aclosing(turn(client, endpoint, path, {"text": text})) as events:
                async for event in events:
                    yield event
        except RuntimeRefused as refusal:
            if refusal.status == httpx.codes.NOT_FOUND:
                raise ConversationNotFound(conversation or MAIN) from refusal
            raise

    def investigate(
        self, client: httpx.AsyncClient, endpoint: Endpoint, alert: Mapping[str, Any]
    ) -> AsyncGenerator[ChatEvent, None]:
        return turn(client, endpoint, "/investigations", {"alert": dict(alert)})

    async def investigations(
        self, client: httpx.AsyncClient, endpoint: Endpoint
    ) -> list[Investigation]:
        """Those cut off or failed too, saying so; those still at it only once they are done."""
        body = await ask(client, endpoint, "/investigations")
        with understood():
            found = (investigation_of(item) for item in objects(body["investigations"]))
            return [one for one in found if one]

    async def investigation(
        self, client: httpx.AsyncClient, endpoint: Endpoint, investigation: str
    ) -> Investigation:
        try:
            body = await ask(client, endpoint, f"/investigations/{quote(investigation, safe='')}")
        except RuntimeRefused as refusal:
            if refusal.status == httpx.codes.NOT_FOUND:
                raise ConversationNotFound(investigation) from refusal
            raise
        with understood():
            found = investigation_of(an_object(body["investigation"]))
        if found is None:
            raise ConversationNotFound(investigation)
        return found


def messages_of(conversation: str | None) -> str:
    name = MAIN if conversation is None else conversation
    return f"/conversations/{quote(name, safe='')}/messages"


async def turn(
    client: httpx.AsyncClient, endpoint: Endpoint, path: str, body: dict[str, Any]
) -> AsyncGenerator[ChatEvent, None]:
    """Ends with exactly one Completed or Failed, or raises."""
    async with (
        exchange(client, endpoint, "POST", path, body, timeout=TIMEOUT) as response,
        aclosing(server_events(response)) as events,
    ):
        async for event in events:
            with understood():
                found = chat_event_of(event.name, an_object(await parsed(event.data)))
            if found:
                yield found
            if isinstance(found, Completed | Failed):
                return
    raise RuntimeUnreachable("The agent's runtime ended in the middle of its answer.")


async def ask(client: httpx.AsyncClient, endpoint: Endpoint, path: str) -> dict[str, Any]:
    async with exchange(client, endpoint, "GET", path, timeout=TIMEOUT) as response:
        answer = await response.aread()
    with understood():
        return an_object(await parsed(answer))


adapter = OpenSREAdapter()
