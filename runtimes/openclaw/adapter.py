"""Chat with OpenClaw through its OpenAI-compatible API; a conversation is a session.

The main conversation is the session that OpenClaw's own web UI opens, so both show the same.
"""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

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
)
from runtimes.openclaw.answering import Began, answer
from runtimes.openclaw.asking import ask, history_of
from runtimes.openclaw.reading import Use, conversation_of, message_of, understood
from runtimes.openclaw.together import together
from runtimes.openclaw.tools import Tools
from runtimes.openclaw.watching import watch
from runtimes.reading import an_object, objects

MAIN = "agent:main:main"
CHECK_KEY = f"agent:main:{CHECK}"
KINDS = ["main", "other"]  # not those of scheduled jobs, groups and the like
PAGE, MOST_PAGES = 200, 5
MOST_MESSAGES = 1000  # OpenClaw gives no more at once


class OpenClawAdapter:
    async def conversations(
        self, client: httpx.AsyncClient, endpoint: Endpoint
    ) -> list[Conversation]:
        found: list[Conversation] = []
        asked = {"kinds": KINDS, "excludeSubagents": True, "includeDerivedTitles": True}
        offset = 0
        for _ in range(MOST_PAGES):
            page = {"tool": "sessions_list", "args": {**asked, "limit": PAGE, "offset": offset}}
            body = await ask(client, endpoint, "POST", "/tools/invoke", page)
            with understood():
                rows = an_object(an_object(body["result"])["details"])
                found += [conversation_of(row, MAIN) for row in objects(rows["sessions"])]
                if not rows.get("hasMore"):
                    break
                offset = int(rows["nextOffset"])
        return found

    async def main(self, client: httpx.AsyncClient, endpoint: Endpoint) -> str:
        return MAIN

    async def history(
        self, client: httpx.AsyncClient, endpoint: Endpoint, conversation: str | None = None
    ) -> list[Message]:
        path = f"{history_of(conversation or MAIN)}?limit={MOST_MESSAGES}"
        try:
            body = await ask(client, endpoint, "GET", path)
        except RuntimeRefused as refusal:
            if refusal.status != httpx.codes.NOT_FOUND:
                raise
            if conversation is None or conversation == MAIN:
                return []
            raise ConversationNotFound(conversation) from refusal
        with understood():
            messages = map(message_of, objects(body["messages"]))
            return [message for message in messages if message]

    async def check(
        self, client: httpx.AsyncClient, endpoint: Endpoint, text: str
    ) -> AsyncGenerator[ChatEvent, None]:
        """OpenClaw begins a conversation of an id that it does not know yet."""
        async with aclosing(self._say(client, endpoint, text, CHECK_KEY)) as events:
            async for event in events:
                yield event

    async def stream(
        self,
        client: httpx.AsyncClient,
        endpoint: Endpoint,
        text: str,
        conversation: str | None = None,
    ) -> AsyncGenerator[ChatEvent, None]:
        if conversation is not None and conversation != MAIN:
            await ensure_known(client, endpoint, conversation)
        async with aclosing(self._say(client, endpoint, text, conversation or MAIN)) as events:
            async for event in events:
                yield event

    async def _say(
        self, client: httpx.AsyncClient, endpoint: Endpoint, text: str, key: str
    ) -> AsyncGenerator[ChatEvent, None]:
        tools = Tools()
        turn, beside = answer(client, endpoint, key, text), watch(client, endpoint, key)
        async with aclosing(together(turn, beside)) as events:
            async for event in events:
                if isinstance(event, Began):
                    tools.run = event.run
                    continue
                if isinstance(event, Use):
                    found: list[ChatEvent] = [*tools.new(event)]
                elif isinstance(event, Completed | Failed):
                    found = [*tools.end(), event]
                else:
                    found = [event]
                for told in found:
                    yield told


async def ensure_known(client: httpx.AsyncClient, endpoint: Endpoint, conversation: str) -> None:
    """Raises ConversationNotFound, where OpenClaw itself would begin one of this id."""
    # Its id must fit into a header as it is; OpenClaw makes none that does not.
    if not re.fullmatch(r"[!-~]+", conversation):
        raise ConversationNotFound(conversation)
    try:
        await ask(client, endpoint, "GET", f"{history_of(conversation)}?limit=1")
    except RuntimeRefused as refusal:
        if refusal.status == httpx.codes.NOT_FOUND:
            raise ConversationNotFound(conversation) from refusal
        raise


adapter = OpenClawAdapter()
