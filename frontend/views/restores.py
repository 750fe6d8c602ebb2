"""Putting a workspace back to a snapshot: asked on a page of its own, then watched."""

from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_GET

from controlplane.agents.lifecycle import Goal
from controlplane.agents.models import Agent
from controlplane.agents.queries import get_agent
from controlplane.errors import Invalid, Refusal
from controlplane.snapshots.actions import restore_snapshot
from controlplane.snapshots.queries import get_restore, get_snapshot, restores_of, snapshots_of
from controlplane.tenants.access import Access
from frontend.asking import Question
from frontend.asking import ask as question_page
from frontend.forms.base import Form
from frontend.forms.naming import NameForm
from frontend.pages import go, is_fragment, page, show
from frontend.silence import silences_of
from frontend.snapshots import point_of, restore_look, restore_step
from frontend.templatetags.roost import clock


@page("agents:write")
def ask(request: HttpRequest, access: Access, name: str, snapshot: str) -> HttpResponse:
    """Says what will happen, and wants the agent's name."""
    agent = get_agent(access, name=name)
    found = get_snapshot(access, agent, snapshot)
    form = NameForm(agent, request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            restore = restore_snapshot(access, found)
        except Refusal as error:
            form.refuse(error)
        else:
            slug = access.organisation.slug
            return go(request, reverse("frontend:agent_restore", args=[slug, name, restore.pk]))
    busy = next((one for one in restores_of(access, agent)[:1] if one.under_way), None)
    context = _context(agent) | {
        "point": point_of(found),
        "form": form,
        "busy": busy,
        "starts": agent.goal == Goal.RUNNING,
        "may_write": True,
    }
    status = 422 if form.errors else 200
    return show(request, access, "frontend/agent/restores/ask.html", context, status=status)


@page("agents:write")
def ask_file(request: HttpRequest, access: Access, name: str, snapshot: str) -> HttpResponse:
    """The same for the one file or folder `?path=`; the agent goes on."""
    agent = get_agent(access, name=name)
    found = get_snapshot(access, agent, snapshot)
    path, slug = request.GET.get("path", ""), access.organisation.slug
    form = Form(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            if not path:
                raise Invalid("path", "Say which file is to be restored.")
            restore = restore_snapshot(access, found, path=path)
        except Refusal as error:
            form.refuse(error)
        else:
            return go(request, reverse("frontend:agent_restore", args=[slug, name, restore.pk]))
    goes_on = (
        f"{agent.name} goes on; a program that has the file open does not notice."
        if agent.goal == Goal.RUNNING
        else f"{agent.name} stays stopped."
    )
    question = Question(
        title="Restore this file?",
        why=format_html(
            "<code>{}</code> becomes what it was at {}. What is there now is kept as a snapshot "
            "first. {}",
            path,
            clock(found.taken_at or found.created_at, exact=True),
            goes_on,
        ),
        submit="Restore it",
        action=request.get_full_path(),
        back=reverse("frontend:snapshots", args=[slug, name]),
        section="agents",
    )
    return question_page(request, access, question, form)


@require_GET
@page("agents:read")
def restore(request: HttpRequest, access: Access, name: str, restore: str) -> HttpResponse:
    """One restore, with its step while it is under way."""
    agent = get_agent(access, name=name)
    found = get_restore(access, agent, restore)
    context = _context(agent) | {
        "restore": found,
        "look": restore_look(found),
        "step": restore_step(found),
        "kept": snapshots_of(access, agent).filter(pk=found.keep_as).first(),
        "may_write": access.may("agents:write"),
    }
    part = "_restore" if is_fragment(request) else "show"
    return show(request, access, f"frontend/agent/restores/{part}.html", context)


def _context(agent: Agent) -> dict[str, Any]:
    return {
        "section": "agents",
        "tab": "snapshots",
        "agent": agent,
        "silences": partial(silences_of, [agent]),
    }
