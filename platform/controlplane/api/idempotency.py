"""`Idempotency-Key` on every POST: a retry gets the first answer, and one effect.

The record is written in the transaction of the effect itself, so either both are there
or neither. Two at once: the second waits for the first at the unique index, then
replays. Answers that hold a secret are kept without it (`redact`).
"""

import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.timezone import now
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.models import IdempotencyRecord
from controlplane.errors import Invalid, Refusal

HEADER = "Idempotency-Key"
KEPT_FOR = timedelta(hours=24)


class IdempotencyKeyReused(Refusal):
    code = "idempotency_key_reused"
    status = 422

    def __init__(self) -> None:
        super().__init__(
            "This Idempotency-Key was used for a different request. Use a new key for a new one."
        )


def once(
    request: Request, scope: str, act: Callable[[], Response], redact: tuple[str, ...] = ()
) -> Response:
    """Run `act` in a transaction, at most once per key; replay its answer afterwards."""
    key = request.headers.get(HEADER)
    if key is None:
        with transaction.atomic():
            return act()
    if not (1 <= len(key) <= 128 and key.isascii() and key.isprintable()):
        raise Invalid(HEADER, f"{HEADER} must be 1 to 128 printable ASCII characters.")
    with transaction.atomic():
        record, mine = _claim(scope, key, _fingerprint(request))
        if not mine:
            return Response(record.body, status=record.status or 200)
        response = act()
        record.status = response.status_code
        record.body = _without(response.data, redact)
        record.save(update_fields=["status", "body"])
        return response


def _claim(scope: str, key: str, fingerprint: str) -> tuple[IdempotencyRecord, bool]:
    IdempotencyRecord.objects.filter(scope=scope, key=key, created_at__lt=now() - KEPT_FOR).delete()
    record, mine = IdempotencyRecord.objects.get_or_create(
        scope=scope, key=key, defaults={"fingerprint": fingerprint}
    )
    if record.fingerprint != fingerprint:
        raise IdempotencyKeyReused
    return record, mine


def _fingerprint(request: Request) -> str:
    """Keyed, because the body may hold a secret that a plain hash would help to guess."""
    body = json.dumps(request.data, sort_keys=True, default=str)
    text = f"{request.method} {request.get_full_path()} {body}"
    return hmac.new(settings.SECRET_KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


def _without(data: Any, names: tuple[str, ...]) -> Any:
    plain = json.loads(json.dumps(data, default=str))
    if isinstance(plain, dict):
        plain = {name: None if name in names else value for name, value in plain.items()}
    return plain


def forget_old() -> int:
    """Delete records whose time is over; returns how many."""
    deleted, _ = IdempotencyRecord.objects.filter(created_at__lt=now() - KEPT_FOR).delete()
    return deleted
