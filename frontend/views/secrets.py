"""The secrets of an organisation: add, rotate, revoke. They are listed on the page of keys."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET

from controlplane.errors import NotFound, Refusal
from controlplane.keys.actions import add_secret
from controlplane.keys.models import Secret
from controlplane.tenants.access import Access
from frontend.asking import Question, ask
from frontend.forms.keys import AddSecretForm, RotateSecretForm
from frontend.keyring import running
from frontend.pages import go, page
from frontend.views.vaulted import as_shown, home, revoking, rotating, showing


@sensitive_post_parameters("value")
@page("keys:write")
def add(request: HttpRequest, access: Access) -> HttpResponse:
    form = AddSecretForm(request.POST or None, request.FILES or None)
    if form.is_valid():
        name, kind = form.cleaned_data["name"], form.cleaned_data["kind"]
        try:
            secret = add_secret(access, name=name, kind=kind, **form.given())
        except Refusal as error:
            form.refuse(as_shown(error), other="name")
        else:
            messages.success(request, f"{secret.name} is in the vault. Choose it for an agent.")
            return go(request, home(access))
    question = Question(
        title="Add a secret",
        why="Any other value your agents need: a token, a password, a certificate.",
        submit="Store in the vault",
        action=request.path,
        back=home(access),
        section="keys",
    )
    return ask(request, access, question, form)


@sensitive_post_parameters("value")
@page("keys:write")
def rotate(request: HttpRequest, access: Access, secret: str) -> HttpResponse:
    found = _secret(access, secret)
    posted = (request.POST or None, request.FILES or None)
    form = RotateSecretForm(found.kind, len(running(found)), *posted)
    return rotating(request, access, found, form, form.given)


@page("keys:write")
def revoke(request: HttpRequest, access: Access, secret: str) -> HttpResponse:
    return revoking(request, access, _secret(access, secret))


@require_GET
@page("keys:read")
def rotation(request: HttpRequest, access: Access, secret: str) -> HttpResponse:
    return showing(request, access, _secret(access, secret))


def _secret(access: Access, secret: str) -> Secret:
    found = Secret.objects.of(access.organisation).live().filter(pk=secret).first()
    if found is None:
        raise NotFound("This secret")
    return found
