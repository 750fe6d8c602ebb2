"""Points in time of an agent's workspace: the list, taking one, deleting one."""

from functools import partial

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.timezone import now
from django.views.decorators.http import require_GET

from controlplane.agents.models import Agent
from controlplane.agents.queries import get_agent
from controlplane.errors import NotFound, Refusal
from controlplane.snapshots.actions import delete_snapshot, take_snapshot
from controlplane.snapshots.models import Snapshot
from controlplane.snapshots.plans import plan_of
from controlplane.snapshots.queries import get_snapshot, restores_of, snapshots_of
from controlplane.tenants.access import Access
from frontend.asking import Question, ask
from frontend.forms.base import Form
from frontend.forms.snapshots import TakeForm
from frontend.pages import go, page, show
from frontend.schedules import schedule_of
from frontend.silence import silences_of
from frontend.snapshots import point_of, restore_look
from frontend.templatetags.roost import clock
from frontend.views.exports import context_of

PAGE = 50
OVER = 286  # tells htmx to ask no more


@require_GET
@page("agents:read")
def snapshots(request: HttpRequest, access: Access, name: str) -> HttpResponse:
    agent = get_agent(access, name=name)
    rows = Paginator(snapshots_of(access, agent), PAGE).get_page(request.GET.get("page"))
    points = [point_of(row) for row in rows]
    pair = [point.snapshot.pk for point in points if point.comparable][:2]
    restore = restores_of(access, agent).first()
    context = {
        "section": "agents",
        "tab": "snapshots",
        "agent": agent,
        "silences": partial(silences_of, [agent]),
        "rows": rows,
        "points": points,
        "to": pair[0] if len(pair) == 2 else "",
        "since": pair[1] if len(pair) == 2 else "",
        "restore": restore,
        "look": restore_look(restore) if restore else None,
        "schedule": schedule_of(plan_of(agent), now()),
        **context_of(access, agent),
    }
    return show(request, access, "frontend/agent/snapshots/index.html", context)


@require_GET
@page("agents:read")
def row(request: HttpRequest, access: Access, name: str, snapshot: str) -> HttpResponse:
    """One line of the list, asked for again while it is under way; it stays chosen."""
    agent = get_agent(access, name=name)
    try:
        found = get_snapshot(access, agent, snapshot)
    except NotFound:
        return HttpResponse(status=OVER)
    context = {
        "agent": agent,
        "point": point_of(found),
        "since": request.GET.get("from", ""),
        "to": request.GET.get("to", ""),
        "may_write": access.may("agents:write"),
    }
    return show(request, access, "frontend/agent/snapshots/_point.html", context)


@page("agents:write")
def take(request: HttpRequest, access: Access, name: str) -> HttpResponse:
    agent = get_agent(access, name=name)
    form = TakeForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            take_snapshot(access, agent, note=form.cleaned_data["note"])
        except Refusal as error:
            form.refuse(error)
        else:
            messages.success(request, f"A snapshot of {agent.name} is being taken. It goes on.")
            return go(request, _list(access, agent))
    question = Question(
        title="Take a snapshot",
        why="A copy of the workspace as it is now. The agent goes on; its writes wait for less "
        "than half a second.",
        submit="Take it",
        action=request.path,
        back=_list(access, agent),
        section="agents",
    )
    return ask(request, access, question, form)


@page("agents:write")
def delete(request: HttpRequest, access: Access, name: str, snapshot: str) -> HttpResponse:
    agent = get_agent(access, name=name)
    found = get_snapshot(access, agent, snapshot)
    form = Form(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            delete_snapshot(access, found)
        except Refusal as error:
            form.refuse(error)
        else:
            messages.success(request, "The snapshot is deleted. The agent is as it was.")
            return go(request, _list(access, agent))
    return ask(request, access, _deleting(access, found, request.path), form)


def _deleting(access: Access, found: Snapshot, action: str) -> Question:
    return Question(
        title="Delete this snapshot?",
        why=format_html(
            "The workspace of {} as it was at {} can then not be restored or compared any more. "
            " Nobody can bring the snapshot back. The agent and its other snapshots stay.",
            found.agent.name,
            clock(found.taken_at or found.created_at),
        ),
        submit="Delete the snapshot",
        action=action,
        back=_list(access, found.agent),
        section="agents",
        destroys=True,
    )


def _list(access: Access, agent: Agent) -> str:
    return reverse("frontend:snapshots", args=[access.organisation.slug, agent.name])
