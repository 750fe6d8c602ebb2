"""What an agent prints: the newest lines with the page, then each as it comes."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from controlplane.agents import gateway
from controlplane.agents.models import Agent
from controlplane.agents.queries import get_agent
from controlplane.agents.sse import event, stream
from controlplane.errors import Refusal, Unavailable
from controlplane.tenants.access import Access
from frontend.batches import batches
from frontend.live import LIFE, QUIET
from frontend.loglines import lines_html, plain
from frontend.pace import Pace
from frontend.pages import async_page, briefly, show
from frontend.silence import silences_of

FIRST = 300  # lines that come with the page
MOST = 5000  # lines of a download
SILENCE = 10.0  # seconds a page waits for the gateway
AGAIN = 2.0  # seconds until an agent that is not followed any more is followed again


@async_page("agents:read")
async def logs(request: HttpRequest, access: Access, name: str) -> HttpResponseBase:
    agent = await briefly(get_agent, access, name=name)
    lines, away = await _newest(access, agent)
    context = {
        "section": "agents",
        "tab": "logs",
        "agent": agent,
        "silences": partial(silences_of, [agent]),
        "may_write": access.may("agents:write"),
        "lines": lines_html(lines),
        "away": away,
        "first": FIRST,
        "last": next((line["at"] for line in reversed(lines) if "at" in line), ""),
    }
    return await sync_to_async(show)(request, access, "frontend/agent/logs.html", context)


async def _newest(access: Access, agent: Agent) -> tuple[list[dict[str, Any]], str]:
    """The last lines, and why there are none where they cannot be had."""
    try:
        async with asyncio.timeout(SILENCE):
            return [line async for line in gateway.logs(access, agent, tail=FIRST)], ""
    except TimeoutError:
        return [], "The gateway takes long to answer. Lines are not lost; they come when it does."
    except (Refusal, Unavailable) as error:
        return [], str(error)


@require_GET
@async_page("agents:read")
async def follow(request: HttpRequest, access: Access, name: str) -> HttpResponseBase:
    """Lines as HTML; the browser's `Last-Event-ID` says which one it had last."""
    agent = await briefly(get_agent, access, name=name)
    since = request.headers.get("Last-Event-ID") or request.GET.get("since", "")
    return stream(_events(access, agent, since[:40]))


async def _events(access: Access, agent: Agent, since: str) -> AsyncIterator[str]:
    yield "retry: 3000\n\n"
    loop, pace = asyncio.get_running_loop(), Pace()
    started = loop.time()
    while loop.time() - started < LIFE:
        lines = gateway.logs(access, agent, follow=True, since=since, tail=FIRST)
        try:
            async for batch in batches(lines, QUIET):
                since = next((line["at"] for line in reversed(batch) if "at" in line), since)
                shown = lines_html(pace.shown(batch))
                yield event("lines", shown, since) if shown else ": still here\n\n"
                if loop.time() - started > LIFE:
                    return
        except (Refusal, Unavailable) as error:
            yield event("away", str(error))
            return
        await asyncio.sleep(AGAIN)


@require_GET
@async_page("agents:read")
async def download(request: HttpRequest, access: Access, name: str) -> HttpResponseBase:
    agent = await briefly(get_agent, access, name=name)
    lines = gateway.logs(access, agent, tail=MOST)
    response = StreamingHttpResponse(_text(lines), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{agent.name}.log"'
    response["Cache-Control"] = "no-store"
    return response


async def _text(lines: AsyncIterator[dict[str, Any]]) -> AsyncIterator[str]:
    try:
        async for line in lines:
            yield _row(line)
    except (Refusal, Unavailable) as error:
        yield f"-- {error}\n"


def _row(line: dict[str, Any]) -> str:
    return f"-- {line['mark']}\n" if "mark" in line else f"{line['at']} {plain(line['text'])}\n"
