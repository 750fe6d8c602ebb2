"""Opening an agent's own web UI: a page that hands the browser a ticket for the agent's host.

The ticket is posted, so that it stands in no address, no history and no log. A script sends the
form by itself; without one a person presses its button.
"""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import reverse

from controlplane.agents import tickets
from controlplane.agents.addresses import web_origin
from controlplane.agents.errors import AgentNotRunning
from controlplane.agents.lifecycle import Status
from controlplane.agents.queries import get_agent
from controlplane.errors import NotFound
from controlplane.tenants.access import Access
from frontend.middleware import policy
from frontend.pages import go, page, show
from runtimes.catalog import CATALOG

TALKING = {Status.RUNNING, Status.DEGRADED}


@page("agents:chat")
def web(request: HttpRequest, access: Access, name: str) -> HttpResponse:
    agent = get_agent(access, name=name)
    runtime = CATALOG.get(agent.runtime)
    if runtime is None or runtime.web is None:
        raise NotFound("This page")
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    if agent.status not in TALKING:
        messages.error(request, str(AgentNotRunning(agent.name, agent.status)))
        return go(request, reverse("frontend:agent", args=[access.organisation.slug, agent.name]))
    origin = web_origin(agent.pk)
    context = {
        "section": "agents",
        "agent": agent,
        "origin": origin,
        "ticket": tickets.issue(access, agent.pk, "web"),
    }
    response = show(request, access, "frontend/agent/open.html", context)
    # This page alone may send a form to somewhere else, and says to there who sent it.
    response["Content-Security-Policy"] = policy(origin)
    response["Referrer-Policy"] = "strict-origin"
    return response
