"""The keys of an organisation: add, rotate, revoke. Values pass through and are kept nowhere."""

from django.contrib import messages
from django.db.models import Count, F, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters

from controlplane.agents.lifecycle import Goal
from controlplane.errors import NotFound, Refusal
from controlplane.keys.actions import add_key, revoke_key, rotate_key
from controlplane.keys.models import Key
from controlplane.tenants.access import Access
from frontend.asking import Question, ask
from frontend.forms.base import Form
from frontend.forms.keys import AddKeyForm, RotateKeyForm
from frontend.pages import go, page, show


@page("keys:read")
def keys(request: HttpRequest, access: Access) -> HttpResponse:
    context = {
        "section": "keys",
        "keys": _used(Key.objects.of(access.organisation).live()).order_by("name"),
        "may_write": access.may("keys:write"),
    }
    return show(request, access, "frontend/keys/index.html", context)


@sensitive_post_parameters("value")
@page("keys:write")
def add(request: HttpRequest, access: Access) -> HttpResponse:
    form = AddKeyForm(request.POST or None)
    if form.is_valid():
        try:
            key = add_key(access, **form.cleaned_data)
        except Refusal as error:
            form.refuse(error, other="name")
        else:
            messages.success(request, f"{key.name} is in the vault. Choose it for an agent.")
            return go(request, _home(access))
    question = Question(
        title="Add a key",
        why="From Anthropic, OpenAI, Google or your own endpoint. You pay the provider directly.",
        submit="Store in the vault",
        action=request.path,
        back=_home(access),
        section="keys",
    )
    return ask(request, access, question, form)


@sensitive_post_parameters("value")
@page("keys:write")
def rotate(request: HttpRequest, access: Access, key: str) -> HttpResponse:
    found = _key(access, key)
    form = RotateKeyForm(request.POST or None)
    if form.is_valid():
        try:
            changed = rotate_key(access, found, value=form.cleaned_data["value"])
        except Refusal as error:
            form.refuse(error)
        else:
            said = f"{changed.name} is at version {changed.version}. {_next(found)}"
            messages.success(request, said)
            return go(request, _home(access))
    question = Question(
        title=f"Rotate {found.name}",
        why=f"The new value takes the place of the old one in the vault. {_next(found)}",
        submit="Store the new value",
        action=request.path,
        back=_home(access),
        section="keys",
    )
    return ask(request, access, question, form)


@page("keys:write")
def revoke(request: HttpRequest, access: Access, key: str) -> HttpResponse:
    found = _key(access, key)
    form = Form(request.POST or None)
    if request.method == "POST":
        try:
            revoke_key(access, found)
        except Refusal as error:
            messages.error(request, str(error))
        else:
            messages.success(request, f"{found.name} is revoked. Its value is gone from the vault.")
        return go(request, _home(access))
    question = Question(
        title=f"Revoke {found.name}?",
        why=f"Every version of its value is removed from the vault, for good. {_after(found)} "
        "Revoke it at the provider too if somebody else may know it.",
        submit="Revoke the key",
        action=request.path,
        back=_home(access),
        section="keys",
        destroys=True,
    )
    return ask(request, access, question, form)


def _home(access: Access) -> str:
    return reverse("frontend:keys", args=[access.organisation.slug])


def _used(keys: QuerySet[Key]) -> QuerySet[Key]:
    """With `agents`: how many agents' current release uses the key."""
    current = Q(releases__agent__release=F("releases__pk"))
    live = ~Q(releases__agent__goal=Goal.DELETED)
    return keys.select_related("created_by").annotate(agents=Count("releases", current & live))


def _key(access: Access, key: str) -> Key:
    found = _used(Key.objects.of(access.organisation).live()).filter(pk=key).first()
    if found is None:
        raise NotFound("This key")
    return found


def _agents(key: Key) -> int:
    return int(getattr(key, "agents", 0))


def _next(key: Key) -> str:
    if not _agents(key):
        return "No agent uses it now."
    number = _agents(key)
    whose = "The agent that uses it has" if number == 1 else f"{number} agents use it; they have"
    return f"{whose} the new value from the next start. Restart to have it now."


def _after(key: Key) -> str:
    if not _agents(key):
        return "No agent uses it now."
    number = _agents(key)
    whose = "The agent that uses it goes" if number == 1 else f"{number} agents use it. They go"
    return f"{whose} on with what it holds until its next start, and then waits for another key."
