"""The front page of an agent: verdict, progress, timeline, facts; kept true by events."""

from collections.abc import Hashable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET

from controlplane.agents.models import Agent, Condition, DiskLevel, Event
from controlplane.agents.queries import agents_of, events_of, get_agent
from controlplane.tenants.access import Access
from frontend import live
from frontend.disks import graph_of
from frontend.looks import look_of
from frontend.pages import async_page, page, show
from frontend.releases import stuck
from frontend.silence import Silence, holding, silences_of
from frontend.steps import steps_of
from frontend.verdicts import Verdict, held, status_of, verdict_of
from provisioner.conditions import CURRENT
from provisioner.drills.alarm import DRILL
from provisioner.scan.alarm import CREDENTIALS
from provisioner.trials.alarm import TRIAL

EVENTS = 30
ALARMS = {CREDENTIALS, CURRENT, DRILL, TRIAL}  # conditions that a banner speaks of
PARTS = {
    name: f"frontend/agent/_{name}.html"
    for name in ("actions", "verdict", "progress", "timeline", "disk", "facts")
} | {"silence": "frontend/parts/silence.html", "alarm": "frontend/agent/_alarm.html"}


@page("agents:read")
def overview(request: HttpRequest, access: Access, name: str) -> HttpResponse:
    agent = get_agent(access, name=name)
    before = request.GET.get("before", "")
    context = drawn(access, agent, int(before) if before.isascii() and before.isdigit() else None)
    context["graph"] = graph_of(agent, request.GET.get("window", ""))
    return show(request, access, "frontend/agent/overview.html", context)


@require_GET
@async_page("agents:read")
async def overview_live(request: HttpRequest, access: Access, agent: str) -> HttpResponseBase:
    return live.answer(AgentParts(request, access, agent), request.GET.get("shown", ""))


def drawn(access: Access, agent: Agent, before: int | None = None) -> dict[str, Any]:
    events = events_of(agent)
    if before is not None:
        events = events.filter(pk__lt=min(before, 2**62))
    newest = list(events[: EVENTS + 1])
    conditions = list(agent.conditions.order_by("type"))
    silences = silences_of([agent])
    return {
        "section": "agents",
        "tab": "overview",
        "agent": agent,
        "status": status_of(agent),
        "silences": silences,
        "verdict": _verdict(access, agent, silences),
        "steps": None if holding(agent, silences) else steps_of(agent),
        "events": newest[:EVENTS],
        "older": newest[EVENTS - 1].pk if len(newest) > EVENTS else None,
        "before": before,
        "conditions": conditions,
        "may_write": access.may("agents:write"),
        "may_chat": access.may("agents:chat"),
        "shown": live.version(looked(agent, newest, conditions, silences)),
    }


def _verdict(access: Access, agent: Agent, silences: list[Silence]) -> Verdict:
    may_write = access.may("agents:write")
    if silence := holding(agent, silences):
        return held(agent, silence.since, may_write)
    return verdict_of(agent, may_write)


def looked(
    agent: Agent, events: list[Event], conditions: list[Condition], silences: list[Silence]
) -> dict[str, Hashable]:
    status = status_of(agent)
    silence = holding(agent, silences)
    since = agent.status_since.isoformat()
    return {
        "actions": (status, agent.name),
        "alarm": (
            *(one.message for one in conditions if one.type in ALARMS),
            agent.disk_level == DiskLevel.FULL,
            stuck(agent, conditions) is not None,
        ),
        "disk": (agent.disk_used, agent.disk_total, agent.disk_level, agent.quota_enforcement),
        "silence": tuple((one, one.age) for one in silences),
        "verdict": (status, agent.reason, agent.message, since, agent.name, silence),
        "progress": (status, agent.step, since, silence),
        "timeline": events[0].pk if events else 0,
        "facts": (
            agent.release_id,
            agent.quota_enforcement,
            tuple((one.type, one.status, one.message) for one in conditions),
        ),
    }


class AgentParts:
    def __init__(self, request: HttpRequest, access: Access, agent_id: str) -> None:
        self.request, self.access, self.agent_id = request, access, agent_id
        self.agents = [agent_id]
        self.hurried = False

    def look(self) -> Mapping[str, Hashable]:
        agent = self._agent()
        if agent is None:
            self.hurried = False
            return {"verdict": "gone"}
        self.hurried = look_of(status_of(agent)).spins
        events, conditions = list(events_of(agent)[:1]), list(agent.conditions.order_by("type"))
        return looked(agent, events, conditions, silences_of([agent]))

    def draw(self, names: set[str]) -> Mapping[str, str]:
        agent = self._agent()
        if agent is None:
            return {"verdict": self._part("frontend/agent/_gone.html", {})}
        context = drawn(self.access, agent)
        return {name: self._part(PARTS[name], context) for name in sorted(names)}

    def _part(self, template: str, context: dict[str, Any]) -> str:
        return render_to_string(template, {**context, "access": self.access}, self.request)

    def _agent(self) -> Agent | None:
        return agents_of(self.access).select_related("created_by").filter(pk=self.agent_id).first()
