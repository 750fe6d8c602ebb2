"""Bringing a workspace: an archive is uploaded to the store, then an agent begins with it."""

from typing import Any
from urllib.parse import urlsplit

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from controlplane.errors import NotFound, Refusal, Unavailable
from controlplane.portability import links
from controlplane.portability.actions import open_import
from controlplane.portability.models import Import
from controlplane.portability.queries import get_import
from controlplane.tenants.access import Access
from frontend.middleware import policy
from frontend.pages import async_page, briefly, go, page, show


@require_POST
@page("agents:write")
def begin(request: HttpRequest, access: Access) -> HttpResponse:
    slug = access.organisation.slug
    try:
        found = open_import(access)
    except Refusal as error:
        messages.error(request, str(error))
        return go(request, reverse("frontend:create", args=[slug]))
    return go(request, reverse("frontend:import", args=[slug, found.pk]))


@require_GET
@async_page("agents:write")
async def upload(request: HttpRequest, access: Access, upload: str) -> HttpResponseBase:
    """Where the archive is sent from the browser, straight to the store; and what has arrived."""
    found = await briefly(_found, access, upload)
    context: dict[str, Any] = {"section": "agents", "found": found, "place": None, "away": ""}
    if found.is_open:
        back = reverse("frontend:import", args=[access.organisation.slug, found.pk])
        try:
            context["place"] = await links.import_upload(
                access, found, back_to=settings.ROOST_URL.rstrip("/") + back
            )
        except (Refusal, Unavailable) as error:
            context["away"] = str(error)
    response = await sync_to_async(show)(request, access, "frontend/imports/show.html", context)
    if context["place"]:
        there = urlsplit(context["place"]["upload"]["url"])
        response["Content-Security-Policy"] = policy("'self'", f"{there.scheme}://{there.netloc}")
    return response


def _found(access: Access, import_id: str) -> Import:
    """Raises NotFound."""
    if len(import_id) > 24:
        raise NotFound("This import")
    return get_import(access, import_id)
