"""The list of agents."""

from collections.abc import Hashable, Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET

from controlplane.agents.models import Agent
from controlplane.agents.queries import deleted_of
from controlplane.tenants.access import Access
from frontend import listing, live
from frontend.listing import Wish
from frontend.looks import STATE_TITLES, look_of
from frontend.pages import async_page, is_fragment, page, show
from frontend.silence import Silence, holding, silences_of
from runtimes.catalog import CATALOG

MOST_DELETED = 20
SILENCE = "frontend/parts/silence.html"


@page("agents:read")
def agents(request: HttpRequest, access: Access) -> HttpResponse:
    context = drawn(access, Wish.of(request.GET))
    if context["may_write"]:
        context["deleted"] = deleted_of(access)[:MOST_DELETED]
    part = is_fragment(request) and request.headers.get("HX-Target") == "agents"
    template = "frontend/agents/_list.html" if part else "frontend/agents/index.html"
    return show(request, access, template, {**context, "part": part})


@require_GET
@async_page("agents:read")
async def agents_live(request: HttpRequest, access: Access) -> HttpResponseBase:
    return live.answer(ListParts(access, Wish.of(request.GET)), request.GET.get("shown", ""))


def drawn(access: Access, wish: Wish) -> dict[str, Any]:
    found = listing.find(access, wish)
    rows = list(found.object_list)
    silences = silences_of(rows)
    total, said = summed(access)
    return {
        "section": "agents",
        "may_write": access.may("agents:write"),
        "standin": bool(settings.ROOST_STANDIN_URL),
        "wish": wish,
        "found": found,
        "rows": rows,
        "silences": silences,
        "total": total,
        "said": said,
        "states": STATE_TITLES,
        "runtimes": CATALOG.values(),
        "shown": live.version(looked(rows, silences, said)),
        "here": wish.address(),
        "earlier": wish.address(found.previous_page_number()) if found.has_previous() else None,
        "later": wish.address(found.next_page_number()) if found.has_next() else None,
    }


def summed(access: Access) -> tuple[int, str]:
    by_status = listing.counts(access)
    total = sum(by_status.values())
    return total, listing.sentence(by_status) if total else ""


def looked(rows: list[Agent], silences: list[Silence], said: str) -> dict[str, Hashable]:
    shown: dict[str, Hashable] = {f"agent:{row.pk}": _fingerprint(row, silences) for row in rows}
    return shown | {
        # Rows that come, go or move: the browser asks for the list again.
        "agents": tuple(row.pk for row in rows),
        "silence": tuple((silence, silence.age) for silence in silences),
        "said": said,
    }


def _fingerprint(row: Agent, silences: list[Silence]) -> Hashable:
    wish = (row.name, row.goal, row.generation, row.observed_generation)
    seen = (row.status, row.message, row.status_since.isoformat(), holding(row, silences))
    return (*wish, *seen, row.release_id)


class ListParts:
    def __init__(self, access: Access, wish: Wish) -> None:
        self.access, self.wish = access, wish
        self.rows: dict[str, Agent] = {}
        self.silences: list[Silence] = []
        self.said = ""
        self.hurried = False
        self.agents: list[str] = []

    def look(self) -> Mapping[str, Hashable]:
        found = list(listing.find(self.access, self.wish).object_list)
        self.rows = {f"agent:{row.pk}": row for row in found}
        self.agents = [row.pk for row in found]
        self.hurried = any(look_of(row.status).spins for row in found)
        self.silences = silences_of(found)
        self.said = summed(self.access)[1]
        return looked(found, self.silences, self.said)

    def draw(self, names: set[str]) -> Mapping[str, str]:
        parts = {name: self._row(self.rows[name]) for name in names if name in self.rows}
        if "silence" in names:
            parts["silence"] = render_to_string(SILENCE, {"silences": self.silences})
        if "said" in names:
            parts["said"] = self.said
        if "agents" in names:
            parts["agents"] = ""
        return parts

    def _row(self, agent: Agent) -> str:
        may_write = self.access.may("agents:write")
        context = {"agent": agent, "access": self.access, "may_write": may_write}
        context["silences"] = self.silences
        return render_to_string("frontend/agents/_row.html", context)
