"""Chat with Echo: one conversation, one request for a turn."""

from collections.abc import AsyncGenerator
from typing import Any

import httpx

from runtimes.adapter import (
    ChatEvent,
    Completed,
    Conversation,
    Endpoint,
    Message,
    RuntimeRefused,
    RuntimeUnreachable,
)

MAIN = "main"


class EchoAdapter:
    async def conversations(
        self, client: httpx.AsyncClient, endpoint: Endpoint
    ) -> list[Conversation]:
        said = (await ask(client, endpoint, "GET", "/said"))["said"]
        return [Conversation(MAIN, "Main", None, len(said))] if said else []

    async def main(self, client: httpx.AsyncClient, endpoint: Endpoint) -> str:
        return MAIN

    async def history(
        self, client: httpx.AsyncClient, endpoint: Endpoint, conversation: str | None = None
    ) -> list[Message]:
        said = (await ask(client, endpoint, "GET", "/said"))["said"]
        return [Message(str(number), "user", text, None) for number, text in enumerate(said)]

    async def stream(
        self,
        client: httpx.AsyncClient,
        endpoint: Endpoint,
        text: str,
        conversation: str | None = None,
    ) -> AsyncGenerator[ChatEvent, None]:
        answer = await ask(client, endpoint, "POST", "/say", json={"text": text})
        yield Completed(MAIN, answer["text"])


async def ask(
    client: httpx.AsyncClient, endpoint: Endpoint, method: str, path: str, **options: Any
) -> Any:
    headers = {"Authorization": f"Bearer {endpoint.token}"}
    url = f"{endpoint.base_url}{path}"
    try:
        response = await client.request(method, url, headers=headers, **options)
    except httpx.HTTPError as error:
        raise RuntimeUnreachable("The agent's runtime does not answer.") from error
    if response.status_code != httpx.codes.OK:
        raise RuntimeRefused(response.status_code, response.text[:200])
    return response.json()


adapter = EchoAdapter()
