"""Links to the store for archives that come and go: only the node has the store's keys."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils.timezone import now
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from controlplane.agents import tickets
from controlplane.agents.tickets import BadTicket
from controlplane.database import from_async
from controlplane.errors import Refusal
from controlplane.portability.errors import NoStore
from controlplane.portability.models import UPLOAD_S, Export, Import
from provisioner.gateway.door import GatewayProblem, let_in
from provisioner.offsite import objects, place
from provisioner.offsite.errors import OffsiteError, StoreAway
from provisioner.portability.export import key_of


async def export_link(request: Request) -> Response:
    """Raises GatewayProblem, also for another agent's."""
    agent = (await let_in(request, "exports")).agent
    rows = Export.objects.filter(agent=agent, pk=request.path_params["export"])
    found = await from_async(rows.select_related("agent").first)()
    if found is None or not found.ready:
        raise GatewayProblem(404, "not_found", "This export does not exist, or is not there now.")

    def link() -> dict[str, Any]:
        seconds = settings.ROOST_EXPORT_LINK_SECONDS
        if found.kept_until is not None:
            seconds = min(seconds, max(1, int((found.kept_until - now()).total_seconds())))
        url = place.bucket().presigned_get(key_of(found), seconds, found.filename)
        return {"url": url, "expires_at": (now() + timedelta(seconds=seconds)).isoformat()}

    return JSONResponse(await _asked(link))


async def import_upload(request: Request) -> Response:
    """Raises GatewayProblem, also for another organisation's."""
    found = await _import(request)
    try:
        found.refuse_closed()
    except Refusal as refusal:
        raise GatewayProblem(refusal.status, refusal.code, str(refusal)) from refusal
    back_to = request.query_params.get("back_to", "")
    key = place.import_key(found.organisation_id, found.pk)

    def upload() -> dict[str, Any]:
        left = int((found.expires_at - now()).total_seconds())
        seconds, most = max(1, min(UPLOAD_S, left)), settings.ROOST_IMPORT_MAX_BYTES
        arrived = objects.size(place.bucket(), key)
        form = objects.presigned_post(
            place.bucket(), key, seconds=seconds, most=most, back_to=back_to
        )
        expires = (now() + timedelta(seconds=seconds)).isoformat()
        told = {"url": form.url, "fields": form.fields, "max_bytes": most, "expires_at": expires}
        return {"uploaded_bytes": arrived, "upload": told}

    return JSONResponse(await _asked(upload))


async def _import(request: Request) -> Import:
    """The one that the ticket names."""
    import_id = request.path_params["import"]
    try:
        ticket = tickets.read(request.headers.get("X-Roost-Ticket", ""), import_id, "imports")
    except BadTicket as error:
        raise GatewayProblem(403, "bad_ticket", "This ticket does not let you in.") from error
    rows = Import.objects.filter(pk=import_id, organisation=ticket.organisation)
    found: Import | None = await from_async(rows.first)()
    if found is None:
        raise GatewayProblem(404, "not_found", "This import does not exist.")
    return found


async def _asked(ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    if not settings.S3_ENDPOINT_URL:
        refusal = NoStore()
        raise GatewayProblem(refusal.status, refusal.code, str(refusal))
    try:
        return await asyncio.to_thread(ask)
    except OffsiteError as error:
        status = 503 if isinstance(error, StoreAway) else 502
        raise GatewayProblem(status, error.code, str(error)) from error
