"""What keys and secrets have in common: rotate with a result by agent, revoke with a warning.

Values pass through and are kept nowhere.
"""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from controlplane.agents import keyring
from controlplane.errors import Refusal
from controlplane.keys.actions import noun
from controlplane.keys.models import Key, Secret
from controlplane.tenants.access import Access
from frontend.asking import Question, ask
from frontend.forms.keys import RevokeForm, RotationForm
from frontend.keyring import listed, rotation_of, running
from frontend.pages import go, show


def home(access: Access) -> str:
    return reverse("frontend:keys", args=[access.organisation.slug])


def rotating(
    request: HttpRequest,
    access: Access,
    thing: Key | Secret,
    form: RotationForm,
    value: Callable[[], dict[str, Any]],
) -> HttpResponse:
    """`value` is what keyring.rotate takes, once the form is valid."""
    if form.is_valid():
        try:
            changed = keyring.rotate(access, thing, apply=form.when(), **value())
        except Refusal as error:
            form.refuse(as_shown(error))
        else:
            messages.success(request, f"{changed.name} is at version {changed.version}.")
            return go(request, f"{home(access)}?rotated={changed.pk}")
    question = Question(
        title=f"Rotate {thing.name}",
        why=f"The new value takes the place of the old one, which is destroyed. {_whose(thing)}",
        submit="Check and rotate" if isinstance(thing, Key) else "Rotate",
        action=request.path,
        back=home(access),
        section="keys",
    )
    return ask(request, access, question, form)


def revoking(request: HttpRequest, access: Access, thing: Key | Secret) -> HttpResponse:
    names = running(thing)
    form = RevokeForm(thing, len(names), request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            stopped = keyring.revoke(access, thing)
        except Refusal as error:
            messages.error(request, str(error))
        else:
            messages.success(request, _revoked(thing, [agent.name for agent in stopped]))
        return go(request, home(access))
    advice = "Revoke it at the provider too if somebody else may know it."
    question = Question(
        title=f"Revoke {thing.name}?",
        why=f"Every version of its value is removed from the vault, for good. {_stops(names)} "
        + (advice if isinstance(thing, Key) else ""),
        submit=f"Revoke the {noun(thing)}{_and_stop(names)}",
        action=request.path,
        back=home(access),
        section="keys",
        destroys=True,
    )
    return ask(request, access, question, form)


def showing(request: HttpRequest, access: Access, thing: Key | Secret) -> HttpResponse:
    """The panel of a rotation, asked again while it is under way."""
    context = {"rotation": rotation_of(thing)}
    return show(request, access, "frontend/keys/_rotation.html", context)


def as_shown(error: Refusal) -> Refusal:
    """A file that was chosen is refused at its own field."""
    if getattr(error, "field", "") == "value_base64":
        error.field = "upload"  # type: ignore[attr-defined]
    return error


def _whose(thing: Key | Secret) -> str:
    names = running(thing)
    if names:
        what = "agent runs" if len(names) == 1 else "agents run"
        return f"{len(names)} {what} with it: {listed(names)}."
    return "No agent runs with it now."


def _stops(names: list[str]) -> str:
    if not names:
        return "No agent runs with it now."
    if len(names) == 1:
        return f"It stops {names[0]}, which runs with it; the workspace is kept."
    return (
        f"It stops the {len(names)} agents that run with it: {listed(names)}. Workspaces are kept."
    )


def _and_stop(names: list[str]) -> str:
    if not names:
        return ""
    return " and stop it" if len(names) == 1 else " and stop them"


def _revoked(thing: Key | Secret, names: list[str]) -> str:
    said = f"{thing.name} is revoked. Its value is gone from the vault."
    return f"{said} Stopped: {listed(names)}." if names else said
