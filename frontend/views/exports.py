"""Taking a workspace along: asked for, watched, downloaded by a link that ends."""

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET

from controlplane.agents.models import Agent
from controlplane.agents.queries import get_agent
from controlplane.errors import NotFound, Refusal
from controlplane.portability import links
from controlplane.portability.actions import export_workspace
from controlplane.portability.models import Export
from controlplane.portability.queries import exports_of, get_export
from controlplane.snapshots.models import Snapshot
from controlplane.snapshots.queries import get_snapshot
from controlplane.tenants.access import Access
from frontend.archives import archive_of
from frontend.asking import Question, ask
from frontend.forms.base import Form
from frontend.pages import async_page, briefly, go, page, show

SHOWN = 5
WHY = (
    "One file with all that is in /workspace, to keep or to import anywhere. It is packed into the "
    "store, unencrypted, read back and compared; the list then says until when you can download "
    "it. Of older ones the newest two stay. Keys and secrets are not in it, unless the agent wrote "
    "some into its files."
)


@page("agents:write")
def export(request: HttpRequest, access: Access, name: str) -> HttpResponse:
    """Of the workspace as it is now."""
    return _ask(request, access, get_agent(access, name=name), None)


@page("agents:write")
def export_snapshot(request: HttpRequest, access: Access, name: str, snapshot: str) -> HttpResponse:
    agent = get_agent(access, name=name)
    return _ask(request, access, agent, get_snapshot(access, agent, snapshot))


def _ask(
    request: HttpRequest, access: Access, agent: Agent, snapshot: Snapshot | None
) -> HttpResponse:
    form = Form(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            export_workspace(access, agent, snapshot=snapshot)
        except Refusal as error:
            form.refuse(error)
        else:
            messages.success(request, f"An export of {agent.name} is being made. It goes on.")
            return go(request, _list(access, agent))
    moment = (snapshot.taken_at or snapshot.created_at) if snapshot else None
    question = Question(
        title=f"Export {agent.name}",
        why=f"{WHY} It shows the workspace as it {'was then' if moment else 'is now'}.",
        submit="Export it",
        action=request.path,
        back=_list(access, agent),
        section="agents",
    )
    return ask(request, access, question, form)


@require_GET
@page("agents:read")
def exports(request: HttpRequest, access: Access, name: str) -> HttpResponse:
    """The newest: a part of the page of snapshots, asked for again while one is under way."""
    agent = get_agent(access, name=name)
    context = context_of(access, agent) | {"agent": agent}
    return show(request, access, "frontend/agent/exports/_exports.html", context)


def context_of(access: Access, agent: Agent) -> dict[str, object]:
    archives = [archive_of(row) for row in exports_of(access, agent)[:SHOWN]]
    return {
        "archives": archives,
        "exporting": any(one.export.under_way for one in archives),
        "may_write": access.may("agents:write"),
    }


@require_GET
@async_page("agents:write")
async def download(
    request: HttpRequest, access: Access, name: str, export: str
) -> HttpResponseBase:
    """By a fresh link, which ends by itself."""
    found = await briefly(_ready, access, name, export)
    if found is None:
        await sync_to_async(messages.error)(request, "This archive is not there any more.")
        return HttpResponseRedirect(
            reverse("frontend:snapshots", args=[access.organisation.slug, name])
        )
    link = await links.export_link(access, found)
    return HttpResponseRedirect(link["url"])


def _ready(access: Access, name: str, export_id: str) -> Export | None:
    """Raises NotFound."""
    if len(export_id) > 24:
        raise NotFound("This export")
    found = get_export(access, get_agent(access, name=name), export_id)
    return found if found.ready else None


def _list(access: Access, agent: Agent) -> str:
    return reverse("frontend:snapshots", args=[access.organisation.slug, agent.name])
