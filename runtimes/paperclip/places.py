"""Where in Paperclip the platform's agent is, and what a conversation is there: an issue."""

from collections.abc import Mapping
from typing import Any

import httpx

from runtimes.adapter import ConversationNotFound, Endpoint, RuntimeRefused, RuntimeUnreachable
from runtimes.paperclip.calling import ask
from runtimes.paperclip.reading import ID, id_of, understood
from runtimes.reading import an_object


def place(endpoint: Endpoint) -> tuple[str, str]:
    """Its company and itself, as its set-up came back with them."""
    company, agent = endpoint.own.get("company"), endpoint.own.get("agent")
    if not company or not agent:
        raise RuntimeUnreachable("The agent is not set up yet; try again in a moment.")
    return company, agent


async def chat_of(client: httpx.AsyncClient, endpoint: Endpoint) -> dict[str, Any]:
    """The chat that is the main conversation; empty before its first use."""
    company, agent = place(endpoint)
    found = await ask(client, endpoint, "GET", f"/api/companies/{company}/chats/{agent}")
    with understood():
        return {} if found is None else an_object(found)


async def the_chat(client: httpx.AsyncClient, endpoint: Endpoint) -> str:
    """The id of that chat, made on its first use."""
    company, agent = place(endpoint)
    made = await ask(client, endpoint, "POST", f"/api/companies/{company}/chats/{agent}", {})
    with understood():
        return id_of(an_object(made))


def path_of(conversation: str) -> str:
    """Paperclip would also take short names, but each conversation has one id with us."""
    if not ID.fullmatch(conversation):
        raise ConversationNotFound(conversation)
    return f"/api/issues/{conversation}"


async def in_conversation(
    client: httpx.AsyncClient,
    endpoint: Endpoint,
    method: str,
    path: str,
    conversation: str,
    body: Mapping[str, Any] | None = None,
) -> Any:
    try:
        return await ask(client, endpoint, method, path, body)
    except RuntimeRefused as refusal:
        if refusal.status == httpx.codes.NOT_FOUND:
            raise ConversationNotFound(conversation) from refusal
        raise
