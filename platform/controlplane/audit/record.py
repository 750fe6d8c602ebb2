"""The one way to write an audit row; call it inside the transaction it speaks of."""

from typing import Any

from django.db import transaction

from controlplane.audit.actor import Actor
from controlplane.audit.models import AuditEvent


def record(
    by: Actor,
    action: str,
    target: str,
    *,
    organisation: str = "",
    label: str = "",
    data: dict[str, Any] | None = None,
) -> None:
    """`data` holds names and numbers, never a secret.

    Raises RuntimeError outside a transaction: an act and its record stand or fall together.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError(f"{action} must be recorded inside the transaction that does it.")
    AuditEvent.objects.create(
        organisation=organisation,
        actor_kind=by.kind,
        actor=by.id,
        actor_label=by.label,
        action=action,
        target=target,
        target_label=label,
        ip=by.ip,
        data=data or {},
    )
