"""Chat with Paperclip: a message is a comment on an issue, its answer one of the run it woke.

The main conversation is the chat Paperclip keeps between its owner and the agent; the others are
the agent's tasks. Paperclip does not stream, so a turn is watched by asking, ever more slowly.
"""

import asyncio
from collections.abc import AsyncGenerator
from uuid import uuid4

import httpx

from runtimes.adapter import (
    ChatEvent,
    Completed,
    Conversation,
    Delta,
    Endpoint,
    Message,
    ToolUse,
)
from runtimes.paperclip.calling import ask
from runtimes.paperclip.places import chat_of, in_conversation, path_of, place, the_chat
from runtimes.paperclip.reading import conversation_of, id_of, message_of, understood
from runtimes.paperclip.tools import Tools
from runtimes.paperclip.turn import Turn, outcome
from runtimes.reading import an_object, objects

MOST_CONVERSATIONS, MOST_MESSAGES = 500, 1000
FIRST_PAUSE_S, LONGEST_PAUSE_S, SLOWER = 0.3, 2.0, 1.2


class PaperclipAdapter:
    async def conversations(
        self, client: httpx.AsyncClient, endpoint: Endpoint
    ) -> list[Conversation]:
        company, agent = place(endpoint)
        path = f"/api/companies/{company}/issues?assigneeAgentId={agent}&limit={MOST_CONVERSATIONS}"
        chat = await chat_of(client, endpoint)
        tasks = await ask(client, endpoint, "GET", path)
        with understood():
            issues = objects(tasks) + ([chat] if chat else [])
            found = {one.id: one for one in map(conversation_of, issues)}
        return sorted(found.values(), key=lambda one: str(one.updated_at), reverse=True)

    async def main(self, client: httpx.AsyncClient, endpoint: Endpoint) -> str | None:
        chat = await chat_of(client, endpoint)
        with understood():
            return id_of(chat) if chat else None

    async def history(
        self, client: httpx.AsyncClient, endpoint: Endpoint, conversation: str | None = None
    ) -> list[Message]:
        if conversation is None:
            conversation = await self.main(client, endpoint)
        if conversation is None:
            return []
        path = f"{path_of(conversation)}/comments?order=desc&limit={MOST_MESSAGES}"
        found = await in_conversation(client, endpoint, "GET", path, conversation)
        with understood():
            comments = reversed(objects(found))
            return [message for comment in comments if (message := message_of(comment))]

    async def stream(
        self,
        client: httpx.AsyncClient,
        endpoint: Endpoint,
        text: str,
        conversation: str | None = None,
    ) -> AsyncGenerator[ChatEvent, None]:
        if conversation is None:
            conversation = await the_chat(client, endpoint)
        path = f"{path_of(conversation)}/comments"
        body = {"body": text, "clientRequestId": str(uuid4())}
        said = await in_conversation(client, endpoint, "POST", path, conversation, body)
        with understood():
            turn = Turn(client, endpoint, conversation, id_of(an_object(said)))
        run = await turn.begun()
        if run is None:
            yield await turn.held_back()
            return
        while True:
            async for event in watched(turn, run):
                yield event
            state = await turn.state(run)
            answer = await turn.answer(run)
            if state.status == "succeeded":
                if answer:
                    yield Delta(answer)
                yield Completed(conversation, answer)
                return
            failure = outcome(state, answer)
            # A key that is refused stays refused; after all else Paperclip tries again by itself.
            again = None if failure.code == "model_key_refused" else await turn.next_try(run)
            if again is None:
                yield failure
                return
            run = again


async def watched(turn: Turn, run: str) -> AsyncGenerator[ToolUse, None]:
    """What the agent does, until the run ended."""
    tools, read, pause = Tools(), 0, FIRST_PAUSE_S
    while True:
        state = await turn.state(run)
        if state.output > read:
            for use in tools.read(await turn.log(run, read, state.output)):
                yield use
            read = state.output
        if state.ended:
            return
        await asyncio.sleep(pause)
        pause = min(pause * SLOWER, LONGEST_PAUSE_S)


adapter = PaperclipAdapter()
