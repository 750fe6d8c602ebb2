"""How far an agent's work is, by what it saved itself: the checkpoints in its workspace."""

import asyncio
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from controlplane.agents import gateway
from controlplane.agents.models import Agent
from controlplane.agents.queries import get_agent
from controlplane.errors import Refusal, Unavailable
from controlplane.tenants.access import Access
from frontend.pages import async_page, briefly, is_fragment, show
from frontend.silence import silences_of
from frontend.verdicts import status_of

SILENCE = 10.0  # seconds a page waits for the gateway
STARTABLE = {"stopped", "failed", "crash_looping"}


@require_GET
@async_page("agents:read")
async def checkpoints(request: HttpRequest, access: Access, name: str) -> HttpResponseBase:
    """The page; asked by htmx, the list alone."""
    agent = await briefly(get_agent, access, name=name)
    found, refused, away = await _found(access, agent)
    may_write = access.may("agents:write")
    context = {
        "section": "agents",
        "tab": "checkpoints",
        "agent": agent,
        "silences": partial(silences_of, [agent]),
        "may_write": may_write,
        "may_start": may_write and status_of(agent) in STARTABLE,
        "rows": found["checkpoints"],
        "note": found["note"],
        "refused": refused,
        "away": away,
    }
    part = "_list" if is_fragment(request) else "index"
    template = f"frontend/agent/checkpoints/{part}.html"
    return await sync_to_async(show)(request, access, template, context)


async def _found(access: Access, agent: Agent) -> tuple[dict[str, Any], str, str]:
    """What the gateway tells; else why it does not, or why it cannot be asked."""
    nothing: dict[str, Any] = {"checkpoints": [], "note": ""}
    try:
        async with asyncio.timeout(SILENCE):
            return await gateway.checkpoints(access, agent), "", ""
    except TimeoutError:
        return nothing, "", "The gateway takes long to answer. Checkpoints are safe meanwhile."
    except Refusal as error:
        return nothing, str(error), ""
    except Unavailable as error:
        return nothing, "", str(error)
