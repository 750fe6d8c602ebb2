"""Recovery drills of an agent: start one, watch it, read what came back, plan them."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from controlplane.agents.models import Agent
from controlplane.agents.queries import get_agent
from controlplane.drills import actions
from controlplane.drills.models import Drill
from controlplane.drills.queries import drills_of, get_drill, plan_of
from controlplane.errors import Refusal
from controlplane.tenants.access import Access
from frontend.drills import choices, drill_look
from frontend.pages import go, is_fragment, page, show
from frontend.silence import silences_of
from frontend.verdicts import status_of

SHOWN = 20  # of the history
DAYS = ((1, "Every day"), (7, "Every week"), (30, "Every 30 days"))
STOP = "0"  # in the place of days


@page("agents:read")
def drills(request: HttpRequest, access: Access, name: str) -> HttpResponse:
    """The newest, and those before it; a POST starts one."""
    agent = get_agent(access, name=name)
    if request.method == "POST":
        return _start(request, access, agent)
    return _show(request, access, agent, drills_of(access, agent).first())


@require_GET
@page("agents:read")
def drill(request: HttpRequest, access: Access, name: str, drill: str) -> HttpResponse:
    agent = get_agent(access, name=name)
    return _show(request, access, agent, get_drill(access, agent, drill))


@require_POST
@page("agents:write")
def plan(request: HttpRequest, access: Access, name: str) -> HttpResponse:
    agent = get_agent(access, name=name)
    days = request.POST.get("every_days", "")
    try:
        if days == STOP:
            actions.stop_planning_drills(access, agent)
        else:
            number = int(days) if days.isascii() and days.isdigit() and len(days) < 4 else 0
            kind = request.POST.get("kind", "")
            actions.plan_drills(access, agent, kind=kind, every_days=number)
        messages.success(request, "No drills are planned." if days == STOP else "Planned.")
    except Refusal as error:
        messages.error(request, str(error))
    return go(request, _address(access, agent))


def _start(request: HttpRequest, access: Access, agent: Agent) -> HttpResponse:
    access.require("agents:write")
    kind, force = request.POST.get("kind", ""), request.POST.get("force") == "on"
    try:
        started = actions.start_drill(access, agent, kind=kind, force=force)
    except Refusal as error:
        messages.error(request, str(error))
        return go(request, _address(access, agent))
    return go(request, _address(access, agent, started))


def _show(request: HttpRequest, access: Access, agent: Agent, shown: Drill | None) -> HttpResponse:
    history = list(drills_of(access, agent).defer("report")[:SHOWN])
    context: dict[str, Any] = {
        "section": "agents",
        "tab": "drills",
        "agent": agent,
        "status": status_of(agent),
        "silences": silences_of([agent]),
        "drill": shown,
        "look": drill_look(shown) if shown else None,
        "history": history,
        "newest": history[0] if history else None,
        "choices": choices(),
        "plan": plan_of(access, agent),
        "days": DAYS,
        "may_write": access.may("agents:write"),
    }
    part = "_drill" if is_fragment(request) else "index"
    return show(request, access, f"frontend/agent/drill/{part}.html", context)


def _address(access: Access, agent: Agent, one: Drill | None = None) -> str:
    where = [access.organisation.slug, agent.name]
    if one is None:
        return reverse("frontend:drills", args=where)
    return reverse("frontend:drill", args=[*where, one.pk])
