"""When snapshots are taken by themselves, and how many are kept: the form that changes it."""

from functools import partial

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from controlplane.agents.queries import get_agent
from controlplane.errors import Refusal
from controlplane.snapshots.plans import change_plan, plan_of
from controlplane.tenants.access import Access
from frontend.forms.schedule import ScheduleForm
from frontend.pages import go, page, show
from frontend.schedules import known_places
from frontend.silence import silences_of


@page("agents:write")
def plan(request: HttpRequest, access: Access, name: str) -> HttpResponse:
    agent = get_agent(access, name=name)
    back = reverse("frontend:snapshots", args=[access.organisation.slug, agent.name])
    form = ScheduleForm(plan_of(agent), request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            changed = change_plan(access, agent, **form.changes())
        except Refusal as error:
            form.refuse(error)
        else:
            said = "is saved" if changed.on else "is off. Those there are stay"
            messages.success(request, f"The schedule of {agent.name} {said}.")
            return go(request, back)
    context = {
        "section": "agents",
        "tab": "snapshots",
        "agent": agent,
        "silences": partial(silences_of, [agent]),
        "form": form,
        "places": known_places(),
        "back": back,
        "may_write": True,
    }
    status = 422 if form.errors else 200
    return show(request, access, "frontend/agent/snapshots/plan.html", context, status=status)
