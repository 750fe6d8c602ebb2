"""The keys of an organisation, and the page that lists its secrets too."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET

from controlplane.errors import NotFound, Refusal
from controlplane.keys.actions import add_key
from controlplane.keys.models import Key, Secret
from controlplane.tenants.access import Access
from frontend.asking import Question, ask
from frontend.forms.keys import AddKeyForm, RotateKeyForm
from frontend.keyring import Rotation, rotation_of, rows, running
from frontend.pages import go, page, show
from frontend.views.vaulted import home, revoking, rotating, showing


@page("keys:read")
def keys(request: HttpRequest, access: Access) -> HttpResponse:
    live = Key.objects.of(access.organisation).live().select_related("created_by")
    secrets = Secret.objects.of(access.organisation).live().select_related("created_by")
    context = {
        "section": "keys",
        "keys": rows(access, live.order_by("name")),
        "secrets": rows(access, secrets.order_by("name")),
        "rotation": _rotated(access, request.GET.get("rotated", "")),
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
            messages.success(request, f"{key.name} is in the vault. {_found(key)}")
            return go(request, home(access))
    question = Question(
        title="Add a key",
        why="From Anthropic, OpenAI, Google or your own endpoint. You pay the provider directly.",
        submit="Check and store",
        action=request.path,
        back=home(access),
        section="keys",
    )
    return ask(request, access, question, form)


@sensitive_post_parameters("value")
@page("keys:write")
def rotate(request: HttpRequest, access: Access, key: str) -> HttpResponse:
    found = _key(access, key)
    form = RotateKeyForm(len(running(found)), request.POST or None)
    return rotating(request, access, found, form, lambda: {"value": form.cleaned_data["value"]})


@page("keys:write")
def revoke(request: HttpRequest, access: Access, key: str) -> HttpResponse:
    return revoking(request, access, _key(access, key))


@require_GET
@page("keys:read")
def rotation(request: HttpRequest, access: Access, key: str) -> HttpResponse:
    return showing(request, access, _key(access, key))


def _key(access: Access, key: str) -> Key:
    found = Key.objects.of(access.organisation).live().filter(pk=key).first()
    if found is None:
        raise NotFound("This key")
    return found


def _found(key: Key) -> str:
    return "Choose it for an agent." if key.checked_at else key.check_message


def _rotated(access: Access, wanted: str) -> Rotation | None:
    """The one that the address asks for, where agents use it."""
    for noun in (Key, Secret):
        thing = noun.objects.of(access.organisation).live().filter(pk=wanted[:24]).first()
        if thing is not None:
            found = rotation_of(thing)
            return found if found.steps else None
    return None
