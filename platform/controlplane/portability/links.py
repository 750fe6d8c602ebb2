"""Links for up- and downloads: the node signs them, which alone knows the store's keys."""

from typing import Any

from controlplane.agents import gateway
from controlplane.portability.errors import NothingUploaded
from controlplane.portability.models import Export, Import
from controlplane.tenants.access import Access


async def export_link(access: Access, export: Export) -> dict[str, Any]:
    """{"url", "expires_at"}: whoever has it can download the archive until then."""
    path = f"agents/{export.agent_id}/exports/{export.pk}/link"
    return await gateway.fetch(access, export.agent_id, "exports", path)


async def import_upload(access: Access, found: Import, *, back_to: str = "") -> dict[str, Any]:
    """{"uploaded_bytes": None before it has arrived, "upload": {"url", "fields", "max_bytes",
    "expires_at"}}: a POST of these fields, then of the archive as `file`. A browser that sent it is
    then sent `back_to`."""
    query = {"back_to": back_to} if back_to else None
    return await gateway.fetch(access, found.pk, "imports", f"imports/{found.pk}/upload", query)


async def refuse_without_upload(access: Access, found: Import) -> None:
    """Of one that an agent is to begin with: one that is closed is told by who begins it. Raises
    NothingUploaded."""
    if found.is_open and (await import_upload(access, found))["uploaded_bytes"] is None:
        raise NothingUploaded
