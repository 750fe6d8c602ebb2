"""Start, stop, restart and resize: a POST each, with or without a script."""

from collections.abc import Callable

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import reverse

from controlplane.agents.actions import (
    restart_agent,
    start_agent,
    stop_agent,
    update_agent,
)
from controlplane.agents.models import Agent
from controlplane.agents.queries import get_agent
from controlplane.agents.sizes import SIZES
from controlplane.errors import Refusal
from controlplane.tenants.access import Access
from frontend.pages import is_fragment, page, show, toast
from frontend.views.overview import drawn

Act = Callable[[Access, Agent, HttpRequest], str]


def _start(access: Access, agent: Agent, request: HttpRequest) -> str:
    start_agent(access, agent)
    return f"Starting {agent.name}."


def _stop(access: Access, agent: Agent, request: HttpRequest) -> str:
    stop_agent(access, agent)
    return f"Stopping {agent.name}. Its workspace is kept."


def _restart(access: Access, agent: Agent, request: HttpRequest) -> str:
    restart_agent(access, agent)
    return f"Restarting {agent.name}. It keeps its workspace."


def _resize(access: Access, agent: Agent, request: HttpRequest) -> str:
    # No size at all would mean "as it is" to the control plane.
    size = request.POST.get("value") or "nothing"
    with transaction.atomic():  # a start that is refused leaves no release behind
        update_agent(access, agent, size=size)
        start_agent(access, agent)
    return f"{agent.name} is {SIZES[size].title} now, and starting."


VERBS: dict[str, Act] = {"start": _start, "stop": _stop, "restart": _restart, "resize": _resize}


@page("agents:write")
def verb(request: HttpRequest, access: Access, name: str, verb: str) -> HttpResponse:
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    agent = get_agent(access, name=name)
    try:
        said = VERBS[verb](access, agent, request)
    except Refusal as error:
        return _refused(request, access, agent, error)
    messages.success(request, said)
    if not is_fragment(request):
        return HttpResponseRedirect(_address(access, agent), status=303)
    context = drawn(access, get_agent(access, pk=agent.pk)) | {"part": True}
    return show(request, access, "frontend/agent/_changed.html", context)


def _refused(request: HttpRequest, access: Access, agent: Agent, error: Refusal) -> HttpResponse:
    if is_fragment(request):
        return toast(request, str(error), error.status)
    messages.error(request, str(error))
    return HttpResponseRedirect(_address(access, agent), status=303)


def _address(access: Access, agent: Agent) -> str:
    return reverse("frontend:agent", args=[access.organisation.slug, agent.name])
