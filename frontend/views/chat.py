"""Talking to an agent. The answer is shown while it is written; what is lost with the line is
in the conversation when the page is opened again, for the agent goes on without us."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.timezone import now

from controlplane.agents import gateway
from controlplane.agents.models import Agent
from controlplane.agents.queries import get_agent
from controlplane.agents.sse import event, stream
from controlplane.errors import NotFound, Refusal, Unavailable
from controlplane.tenants.access import Access
from frontend import markdown
from frontend.looks import look_of
from frontend.pages import async_page, briefly, show
from frontend.turns import Answer, Turn, turns_of
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
    return stream(_events(agent, words))


async def _page(
    request: HttpRequest,
    access: Access,
    agent: Agent,
    conversation: str,
    *,
    said: str = "",
    draft: str = "",
    status: int = 200,
) -> HttpResponse:
    heard = await _hear(access, agent, conversation[:200])
    context = {
        "section": "agents",
        "tab": "chat",
        "agent": agent,
        "status": status_of(agent),
        "look": look_of(status_of(agent)),
        "conversation": conversation,
        "may_write": access.may("agents:write"),
        "may_chat": access.may("agents:chat"),
        "said": said,
        "draft": draft,
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
    return {"talks": talks, "current": current, "turns": turns_of(history["messages"])}


async def _whole(
    request: HttpRequest,
    access: Access,
    agent: Agent,
    words: AsyncIterator[dict[str, Any]],
    conversation: str,
    text: str,
) -> HttpResponse:
    """Without a script: wait for the answer, then show the conversation."""
    try:
        async for word in words:
            if word["type"] == "failed":
                raise Unavailable(word["message"])
    except (Refusal, Unavailable) as error:
        said = f"No answer: {error} Your message is kept below."
        return await _page(request, access, agent, conversation, said=said, draft=text, status=502)
    address = reverse("frontend:chat", args=[access.organisation.slug, agent.name])
    query = f"?c={conversation}" if conversation else ""
    await sync_to_async(messages.success)(request, f"{agent.name} has answered.")
    return HttpResponseRedirect(f"{address}{query}#end", status=303)


async def _events(agent: Agent, words: AsyncIterator[dict[str, Any]]) -> AsyncIterator[str]:
    """`text` and `tools` while it is written, then `done` or `failed`, all as clean HTML."""
    answer, drawn = Answer(), 0.0
    try:
        async for word in words:
            match word["type"]:
                case "delta":
                    answer.text += word["text"]
                    # Longer answers are drawn less often: each time all of it is sent.
                    if time.monotonic() - drawn > 0.05 + len(answer.text) / 100_000:
                        drawn = time.monotonic()
                        yield event("text", markdown.render(answer.text))
                case "tool":
                    answer.use(word["name"], word["state"], word.get("detail", ""))
                    yield event("text", markdown.render(answer.text))
                    yield event("tools", _draw("_tools", agent, tools=answer.tools))
                case "completed":
                    html = markdown.render(word["text"] or answer.text)
                    turn = Turn(False, html, now(), answer.tools)
                    yield event("conversation", word["conversation"])
                    yield event("done", _draw("_turn", agent, turn=turn))
                    return
                case "failed":
                    yield _failed(agent, word["message"])
                    return
        yield _failed(agent, "The answer was cut off.")
    except (Refusal, Unavailable) as error:
        yield _failed(agent, str(error))


def _failed(agent: Agent, why: str) -> str:
    return event("failed", _draw("_failed", agent, why=why))


def _draw(template: str, agent: Agent, **context: Any) -> str:
    return render_to_string(f"frontend/agent/chat/{template}.html", {"agent": agent, **context})
