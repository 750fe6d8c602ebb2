"""Releases of an agent: the history, a newer version, going back; and upgrades, as they happen."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from controlplane.agents.models import Agent
from controlplane.agents.queries import get_agent, get_release, releases_of
from controlplane.errors import Refusal
from controlplane.tenants.access import Access
from controlplane.upgrades.actions import roll_back, upgrade_agent
from controlplane.upgrades.models import Upgrade
from controlplane.upgrades.queries import get_upgrade, upgrades_of
from frontend.asking import Question, ask
from frontend.forms.releases import RollbackForm
from frontend.pages import go, is_fragment, page, show
from frontend.releases import goes_back, offer_of, rows_of, steps_of, upgrade_look
from frontend.silence import silences_of
from frontend.verdicts import status_of

PAGE = 20


@require_GET
@page("agents:read")
def releases(request: HttpRequest, access: Access, name: str) -> HttpResponse:
    """The history, with the newest upgrade above it."""
    agent = get_agent(access, name=name)
    return _show(request, access, agent, upgrades_of(access, agent).first())


@require_GET
@page("agents:read")
def upgrade(request: HttpRequest, access: Access, name: str, upgrade: str) -> HttpResponse:
    agent = get_agent(access, name=name)
    return _show(request, access, agent, get_upgrade(access, agent, upgrade))


@require_POST
@page("agents:write")
def begin(request: HttpRequest, access: Access, name: str) -> HttpResponse:
    """To the newest version."""
    agent = get_agent(access, name=name)
    try:
        made = upgrade_agent(access, agent, force=request.POST.get("force") == "on")
    except Refusal as error:
        messages.error(request, str(error))
        return go(request, _address(access, agent))
    return go(request, _address(access, agent, made))


@page("agents:write")
def back(request: HttpRequest, access: Access, name: str, number: int) -> HttpResponse:
    """Says what going back to this release means, and wants a word."""
    agent = get_agent(access, name=name)
    target = get_release(agent, number)
    form = RollbackForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            force = form.cleaned_data["force"]
            made = roll_back(access, agent, release=target.number, force=force)
        except Refusal as error:
            form.refuse(error)
        else:
            if isinstance(made, Upgrade):
                return go(request, _address(access, agent, made))
            messages.success(request, f"Release {made.number} was made. {made.why}.")
            return go(request, _address(access, agent))
    assert agent.release is not None  # noqa: S101  set in the transaction that made the agent
    moves = target.image != agent.release.image
    if not moves:
        del form.fields["force"]
    return ask(request, access, _question(access, agent, target, moves, request.path), form)


def _question(access: Access, agent: Agent, target: Any, moves: bool, action: str) -> Question:
    said = (
        "A new release is made with its settings, key and secrets. What is in the workspace stays "
        "as it is, and the workspace gets no smaller."
    )
    if moves:
        said += (
            f" It runs version {target.runtime_version} then: a snapshot is taken first, and all "
            "is put back if that does not go well."
        )
    return Question(
        title=f"Go back to release {target.number}?",
        why=said,
        submit="Go back to it",
        action=action,
        back=_address(access, agent),
        section="agents",
    )


def _show(request: HttpRequest, access: Access, agent: Agent, one: Upgrade | None) -> HttpResponse:
    rows = Paginator(releases_of(agent), PAGE).get_page(request.GET.get("page"))
    context: dict[str, Any] = {
        "section": "agents",
        "tab": "releases",
        "agent": agent,
        "status": status_of(agent),
        "silences": silences_of([agent]),
        "upgrade": one,
        "look": upgrade_look(one) if one else None,
        "steps": steps_of(one) if one and one.under_way else [],
        "goes_back": one is not None and goes_back(one),
        "offer": offer_of(agent),
        "busy": upgrades_of(access, agent).under_way().exists(),
        "page": rows,
        "rows": rows_of(agent, list(rows)),
        "may_write": access.may("agents:write"),
    }
    part = "_releases" if is_fragment(request) else "index"
    return show(request, access, f"frontend/agent/releases/{part}.html", context)


def _address(access: Access, agent: Agent, one: Upgrade | None = None) -> str:
    where = [access.organisation.slug, agent.name]
    if one is None:
        return reverse("frontend:releases", args=where)
    return reverse("frontend:upgrade", args=[*where, one.pk])
