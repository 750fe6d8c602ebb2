"""Changing an agent, which makes a release, and deleting it."""

from functools import partial
from typing import Any

from django.conf import settings as django_settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import reverse

from controlplane.agents.actions import delete_agent, update_agent
from controlplane.agents.errors import AgentNameTaken
from controlplane.agents.models import Agent
from controlplane.agents.queries import get_agent
from controlplane.errors import Refusal
from controlplane.tenants.access import Access
from frontend.forms.naming import NameForm
from frontend.forms.settings import SettingsForm
from frontend.forms.spec import SPEC
from frontend.pages import go, page, show
from frontend.silence import silences_of
from frontend.verdicts import status_of


@page("agents:write")
def settings(request: HttpRequest, access: Access, name: str) -> HttpResponse:
    agent = get_agent(access, name=name)
    if request.method != "POST":
        return _page(request, access, agent)
    form = SettingsForm(access, agent, request.POST)
    if form.is_valid():
        try:
            changed = _change(access, agent, form.cleaned_data)
        except Refusal as error:
            form.refuse(error, other="name" if isinstance(error, AgentNameTaken) else None)
        else:
            return _changed(request, access, agent, changed)
    return _page(request, access, agent, form=form)


def _change(access: Access, agent: Agent, data: dict[str, Any]) -> Agent:
    wanted = ("name", "disk_gib", *SPEC)
    return update_agent(
        access, agent, if_match=data["etag"], **{name: data[name] for name in wanted}
    )


def _changed(request: HttpRequest, access: Access, old: Agent, new: Agent) -> HttpResponse:
    if new.release and new.release_id != old.release_id:
        messages.success(request, f"Saved as release {new.release.number}.")
    else:
        messages.success(request, "Saved.")
    return go(request, reverse("frontend:agent", args=[access.organisation.slug, new.name]))


@page("agents:write")
def delete(request: HttpRequest, access: Access, name: str) -> HttpResponse:
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    agent = get_agent(access, name=name)
    form = NameForm(agent, request.POST)
    if not form.is_valid():
        return _page(request, access, agent, deleting=form)
    try:
        delete_agent(access, agent)
    except Refusal as error:
        messages.error(request, str(error))
    else:
        said = f"{agent.name} is deleted. Its workspace is kept for {grace()}"
        messages.success(request, f"{said}: within that time you can bring it back.")
    return go(request, reverse("frontend:agents", args=[access.organisation.slug]))


def _page(
    request: HttpRequest,
    access: Access,
    agent: Agent,
    *,
    form: SettingsForm | None = None,
    deleting: NameForm | None = None,
) -> HttpResponse:
    form, deleting = form or SettingsForm(access, agent), deleting or NameForm(agent)
    context = {
        "section": "agents",
        "tab": "settings",
        "agent": agent,
        "silences": partial(silences_of, [agent]),
        "status": status_of(agent),
        "form": form,
        "deleting": deleting,
        "grace": grace(),
        "standin": bool(django_settings.ROOST_STANDIN_URL),
        "may_write": True,
    }
    status = 422 if form.errors or deleting.errors else 200
    return show(request, access, "frontend/agent/settings.html", context, status=status)


def grace() -> str:
    """How long a deleted agent's workspace is kept."""
    seconds = django_settings.ROOST_DELETE_GRACE_SECONDS
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            number = seconds // size
            return f"{number} {unit}{'' if number == 1 else 's'}"
    return f"{seconds} seconds"
