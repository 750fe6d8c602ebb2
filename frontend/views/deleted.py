"""Bringing back a deleted agent, while its workspace is kept."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import reverse

from controlplane.agents.actions import restore_agent
from controlplane.agents.queries import get_any_agent
from controlplane.errors import Refusal
from controlplane.tenants.access import Access
from frontend.pages import go, page


@page("agents:write")
def restore(request: HttpRequest, access: Access, agent: str) -> HttpResponse:
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    found = get_any_agent(access, agent)
    try:
        restore_agent(access, found)
    except Refusal as error:
        messages.error(request, str(error))
        return go(request, reverse("frontend:agents", args=[access.organisation.slug]))
    messages.success(request, f"{found.name} is back, stopped, with its workspace.")
    return go(request, reverse("frontend:agent", args=[access.organisation.slug, found.name]))
