"""What changed between two snapshots. The node reads them: this process knows no disk."""

import asyncio
import re
from collections.abc import Awaitable
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from controlplane.agents import gateway
from controlplane.agents.models import Agent
from controlplane.agents.queries import get_agent
from controlplane.errors import NotFound, Refusal, Unavailable
from controlplane.snapshots.models import Snapshot
from controlplane.snapshots.queries import get_snapshot, one_before
from controlplane.tenants.access import Access
from frontend.diffs import lines_of
from frontend.pages import async_page, briefly, is_fragment, show
from frontend.silence import silences_of

PAGE = 200  # paths
SILENCE = 30.0  # seconds a page waits for the gateway, which reads two long lists
NO_PAIR = "There is no earlier snapshot on the node to compare it with. Choose two others."
SAME = "These are the same snapshot. Choose two others."


@require_GET
@async_page("agents:read")
async def compare(request: HttpRequest, access: Access, name: str) -> HttpResponseBase:
    """`?to=` and `?from=`; without the latter, the one before."""
    agent, old, new = await briefly(_asked, request, access, name)
    found, refused, away = None, "", ""
    if old is None or old == new:
        refused = SAME if old else NO_PAIR
    else:
        found, refused, away = await _told(
            gateway.snapshot_diff(
                access, agent, new.pk, against=old.pk, cursor=_cursor(request), limit=PAGE
            )
        )
    context = _context(access, agent, old, new) | {
        "found": found, "refused": refused, "away": away, "start": _cursor(request),
    }  # fmt: skip
    return await sync_to_async(show)(
        request, access, "frontend/agent/snapshots/compare.html", context
    )


@require_GET
@async_page("agents:read")
async def text(request: HttpRequest, access: Access, name: str) -> HttpResponseBase:
    """What changed in the file `?path=`: a part of the page above, or a page of its own."""
    agent, old, new = await briefly(_asked, request, access, name)
    path = request.GET.get("path", "").replace("\0", "")
    if old is None:
        raise NotFound("This snapshot")
    found, refused, away = await _told(
        gateway.snapshot_text(access, agent, new.pk, against=old.pk, path=path)
    )
    lines, more = lines_of(found["diff"]) if found else ([], False)
    context = _context(access, agent, old, new) | {
        "path": path, "lines": lines, "more": more,
        "why": found["why"] if found else "", "refused": refused, "away": away,
    }  # fmt: skip
    part = "_text" if is_fragment(request) else "text"
    template = f"frontend/agent/snapshots/{part}.html"
    return await sync_to_async(show)(request, access, template, context)


def _asked(
    request: HttpRequest, access: Access, name: str
) -> tuple[Agent, Snapshot | None, Snapshot]:
    """Raises NotFound, also for other agents' snapshots."""
    agent = get_agent(access, name=name)
    new = _one(access, agent, request.GET.get("to", ""))
    wanted = request.GET.get("from", "")
    old = _one(access, agent, wanted) if wanted else one_before(access, agent, new)
    return agent, old, new


def _one(access: Access, agent: Agent, snapshot_id: str) -> Snapshot:
    if not re.fullmatch(r"\w{1,24}", snapshot_id, re.ASCII):
        raise NotFound("This snapshot")
    return get_snapshot(access, agent, snapshot_id)


def _cursor(request: HttpRequest) -> int:
    """Nonsense in the address counts as not asked for."""
    text = request.GET.get("cursor", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


async def _told(answer: Awaitable[dict[str, Any]]) -> tuple[dict[str, Any] | None, str, str]:
    """What the gateway tells; else why it does not, or why it cannot be asked."""
    try:
        async with asyncio.timeout(SILENCE):
            return await answer, "", ""
    except TimeoutError:
        return None, "", "The gateway takes long to answer. The snapshots are safe meanwhile."
    except Refusal as error:
        return None, str(error), ""
    except Unavailable as error:
        return None, "", str(error)


def _context(access: Access, agent: Agent, old: Snapshot | None, new: Snapshot) -> dict[str, Any]:
    return {
        "section": "agents",
        "tab": "snapshots",
        "agent": agent,
        "silences": partial(silences_of, [agent]),
        "old": old,
        "new": new,
        "exact": old is not None and _minute(old) == _minute(new),
        "may_write": access.may("agents:write"),
    }


def _minute(snapshot: Snapshot) -> str:
    """Two of one minute would look alike."""
    return f"{snapshot.taken_at or snapshot.created_at:%Y-%m-%d %H:%M}"
