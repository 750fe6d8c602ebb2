"""A new agent that begins as a snapshot: asked on a page of its own."""

from functools import partial

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from controlplane.agents.errors import AgentNameTaken
from controlplane.agents.queries import get_agent
from controlplane.errors import Refusal
from controlplane.snapshots.forking import NOT_HERE, fork, forked_key, forked_release
from controlplane.snapshots.models import Snapshot
from controlplane.snapshots.queries import get_snapshot
from controlplane.tenants.access import Access
from frontend.forms.forking import ForkForm
from frontend.pages import go, page, show
from frontend.silence import silences_of
from frontend.snapshots import point_of


@page("agents:write")
def ask(request: HttpRequest, access: Access, name: str, snapshot: str) -> HttpResponse:
    """Says what will happen, and wants a name and the secrets."""
    agent = get_agent(access, name=name)
    found = get_snapshot(access, agent, snapshot)
    form = ForkForm(access, agent, request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            made = fork(access, found, **form.cleaned_data)
        except Refusal as error:
            form.refuse(error, other="name" if isinstance(error, AgentNameTaken) else None)
        else:
            messages.success(request, f"{made.name} is being made from the snapshot.")
            return go(
                request, reverse("frontend:agent", args=[access.organisation.slug, made.name])
            )
    release = forked_release(found)
    context = {
        "section": "agents",
        "tab": "snapshots",
        "agent": agent,
        "silences": partial(silences_of, [agent]),
        "point": point_of(found),
        "why_not": _why_not(found),
        "release": release,
        "disk_gib": max(release.disk_gib, found.disk_gib),
        "key": forked_key(release),
        "form": form,
        "may_write": True,
    }
    status = 422 if form.errors else 200
    return show(request, access, "frontend/agent/forks/ask.html", context, status=status)


def _why_not(snapshot: Snapshot) -> str:
    if not snapshot.usable:
        return snapshot.message or "It is still being made."
    return "" if snapshot.on_node else NOT_HERE
