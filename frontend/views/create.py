"""The page that makes an agent, and a key with it where one is typed there."""

from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib import messages
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters

from controlplane.agents.actions import create_agent
from controlplane.agents.errors import AgentNameTaken
from controlplane.agents.models import Agent
from controlplane.agents.queries import agents_of
from controlplane.errors import Invalid, Refusal
from controlplane.keys.actions import add_key
from controlplane.keys.errors import KeyNameTaken
from controlplane.portability.actions import begin_agent
from controlplane.portability.links import refuse_without_upload
from controlplane.portability.models import Import
from controlplane.portability.queries import get_import
from controlplane.tenants.access import Access
from frontend.forms.choosing import NEW
from frontend.forms.create import CreateForm
from frontend.forms.spec import SPEC
from frontend.pages import go, page, show
from runtimes.catalog import CATALOG

# The control plane's names of a key's fields, and ours.
KEY_FIELDS = {"name": "key_name", "value": "key_value", "base_url": "key_base_url"}


@sensitive_post_parameters("key_value")
@page("agents:write")
def create(request: HttpRequest, access: Access) -> HttpResponse:
    brought = _brought(request, access)
    if request.method != "POST":
        return _form(request, access, CreateForm(access), brought)
    form = CreateForm(access, request.POST)
    if not form.is_valid() or not _stored(access, form):
        return _form(request, access, form, brought)
    try:
        agent = _made(access, form.cleaned_data, brought)
    except Refusal as error:
        return _form(request, access, _again(request, access, form, error), brought)
    messages.success(request, f"{agent.name} is being made.")
    return go(request, reverse("frontend:agent", args=[access.organisation.slug, agent.name]))


def _stored(access: Access, form: CreateForm) -> bool:
    """Whether the key is there: chosen, not needed, or stored just now."""
    data = form.cleaned_data
    if data["key"] != NEW:
        return True
    base_url = data["key_base_url"] if data["provider"] == "custom" else ""
    try:
        key = add_key(
            access,
            name=data["key_name"],
            provider=data["provider"],
            value=data["key_value"],
            base_url=base_url,
        )
    except (Invalid, KeyNameTaken) as error:
        field = error.field if isinstance(error, Invalid) else "name"
        form.add_error(KEY_FIELDS.get(field), str(error))
        return False
    data["key"] = key.pk
    return True


def _brought(request: HttpRequest, access: Access) -> Import | None:
    """The archive that the agent begins with, where somebody uploaded one. Raises NotFound."""
    wanted = (request.POST if request.method == "POST" else request.GET).get("import", "")
    return get_import(access, wanted[:24].replace("\0", "")) if wanted else None


def _made(access: Access, data: dict[str, Any], brought: Import | None) -> Agent:
    wanted = {name: data[name] for name in ("name", "runtime", "disk_gib", *SPEC)}
    if brought is None:
        return create_agent(access, **wanted)
    async_to_sync(refuse_without_upload)(access, brought)
    return begin_agent(access, brought, **wanted)


def _again(request: HttpRequest, access: Access, form: CreateForm, error: Refusal) -> CreateForm:
    """The form once more, with the refusal at its field. A key that was typed is stored by now:
    it is chosen instead of typed again."""
    data = request.POST.copy()
    if data.get("key") == NEW and form.cleaned_data["key"]:
        data["key"] = form.cleaned_data["key"]
    form = CreateForm(access, data)
    form.is_valid()
    form.refuse(error, other="name" if isinstance(error, AgentNameTaken) else None)
    return form


def _form(
    request: HttpRequest, access: Access, form: CreateForm, brought: Import | None
) -> HttpResponse:
    context = {
        "section": "agents",
        "form": form,
        "brought": brought,
        "takes_over": _takes_over() if brought else [],
        "use": _use(access),
        "standin": bool(settings.ROOST_STANDIN_URL),
    }
    status = 422 if form.errors else 200
    return show(request, access, "frontend/agents/create.html", context, status=status)


def _takes_over() -> list[str]:
    """Which runtime also begins with a workspace of another."""
    return [
        f"{runtime.title} also takes over one of {CATALOG[other].title}."
        for runtime in CATALOG.values()
        for other in runtime.migrations
        if other in CATALOG
    ]


def _use(access: Access) -> dict[str, int]:
    """What the organisation has of what it may have."""
    agents = agents_of(access)
    sums = agents.aggregate(memory=Sum("release__memory_mb"), disk=Sum("release__disk_gib"))
    return {"agents": agents.count(), "memory": sums["memory"] or 0, "disk": sums["disk"] or 0}
