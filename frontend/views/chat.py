"""Talking to an agent. The answer is shown while it is written; what is lost with the line is
in the conversation when the page is opened again, for the agent goes on without us."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse

from controlplane.agents import gateway
from controlplane.agents.models import Agent
from controlplane.agents.queries import get_agent
from controlplane.agents.sse import stream
from controlplane.errors import NotFound, Refusal, Unavailable
from controlplane.tenants.access import Access
from frontend.answering import KEY_REFUSED, events_of
from frontend.looks import look_of
from frontend.pages import async_page, briefly, show
from frontend.silence import silences_of
from frontend.turns import newest, turns_of
from frontend.verdicts import status_of

LONGEST = 100_000  # characters of a message, as in the API
MAIN = "main"  # what runtimes call the conversation that is there without asking for one
SILENCE = 20.0  # seconds a page waits for the gateway before it shows itself without history


@async_page("agents:read")
async def chat(request: HttpRequest, access: Access, name: str) -> HttpResponseBase:
    agent = await briefly(get_agent, access, name=name)
    if request.method != "POST":
        return await _page(request, access, agent, request.GET.get("c", ""))
    access.require("agents:chat")
    text = request.POST.get("text", "").strip()
    conversation = request.POST.get("conversation", "")[:200]
    if not text or len(text) > LONGEST:
        said = (
            f"A message has at most {LONGEST:,} characters." if text else "Write a message first."
        )
        return await _page(request, access, agent, conversation, said=said, draft=text, status=422)
    words = gateway.stream_message(access, agent, text, conversation or None)
    if "text/event-stream" not in request.headers.get("Accept", ""):
        return await _whole(request, access, agent, words, conversation, text)
    return stream(events_of(agent, words, _keys(access)))


async def _page(
    request: HttpRequest,
    access: Access,
    agent: Agent,
    conversation: str,
    *,
    said: str = "",
    draft: str = "",
    keys: str = "",
    status: int = 200,
) -> HttpResponse:
    heard = await _hear(access, agent, conversation[:200])
    context = {
        "section": "agents",
        "tab": "chat",
        "agent": agent,
        "silences": partial(silences_of, [agent]),
        "status": status_of(agent),
        "look": look_of(status_of(agent)),
        "conversation": conversation,
        "may_write": access.may("agents:write"),
        "may_chat": access.may("agents:chat"),
        "said": said,
        "draft": draft,
        "keys": keys,
        **heard,
    }
    return await sync_to_async(show)(
        request, access, "frontend/agent/chat.html", context, status=status
    )


async def _hear(access: Access, agent: Agent, conversation: str) -> dict[str, Any]:
    """Conversations and the words of one, or why they cannot be had now."""
    try:
        async with asyncio.timeout(SILENCE):
            talks, history = await asyncio.gather(
                gateway.conversations(access, agent),
                gateway.history(access, agent, conversation or None),
            )
    except TimeoutError:
        return {"away": "It takes long to answer. It most likely goes on; try again in a moment."}
    except Unavailable as error:
        return {"away": str(error)}
    except Refusal as error:
        if error.code == "conversation_not_found":
            raise NotFound("This conversation") from error
        return {"refused": str(error)}
    current = conversation or history.get("conversation") or MAIN
    shown = newest(history["messages"])
    return {
        "talks": talks,
        "current": current,
        "turns": await asyncio.to_thread(turns_of, shown),
        "older": len(history["messages"]) - len(shown),
    }


async def _whole(
    request: HttpRequest,
    access: Access,
    agent: Agent,
    words: AsyncIterator[dict[str, Any]],
    conversation: str,
    text: str,
) -> HttpResponse:
    """Without a script: wait for the answer, then show the conversation."""
    last: dict[str, Any] = {}
    try:
        async for word in words:
            last = word
        if last.get("type") == "failed":
            raise Unavailable(last["message"])
    except (Refusal, Unavailable) as error:
        said = f"No answer: {error} Your message is kept below."
        keys = _keys(access) if last.get("code") == KEY_REFUSED else ""
        return await _page(
            request, access, agent, conversation, said=said, draft=text, keys=keys, status=502
        )
    address = reverse("frontend:chat", args=[access.organisation.slug, agent.name])
    query = f"?c={conversation}" if conversation else ""
    await sync_to_async(messages.success)(request, f"{agent.name} has answered.")
    return HttpResponseRedirect(f"{address}{query}#end", status=303)


def _keys(access: Access) -> str:
    """Where a refused key is put right."""
    return reverse("frontend:keys", args=[access.organisation.slug])
