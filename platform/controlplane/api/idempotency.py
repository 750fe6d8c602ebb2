"""`Idempotency-Key` on every POST: a retry gets the first answer, and one effect.

The record is written in the transaction of the effect itself, so either both are there
or neither. Two at once: the second waits for the first at the unique index, then
replays. Answers that hold a secret are kept without it (`redact`).

What cannot be in a transaction (an agent's answer takes minutes) takes a `Claim` instead:
written before, so that a retry can never do it again, and given its answer afterwards.
"""

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
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


class IdempotencyInProgress(Refusal):
    code = "idempotency_in_progress"

    def __init__(self) -> None:
        super().__init__(
            "A request with this Idempotency-Key is under way, or its answer was lost. It is not "
            "done a second time: look at what it led to, and use a new key for a new request."
        )


def once(
    request: Request, scope: str, act: Callable[[], Response], redact: tuple[str, ...] = ()
) -> Response:
    """Run `act` in a transaction, at most once per key; replay its answer afterwards."""
    key = _key_of(request)
    if key is None:
        with transaction.atomic():
            return act()
    with transaction.atomic():
        record, mine = _claim(scope, key, _fingerprint(request))
        if not mine:
            return Response(record.body, status=record.status or 200)
        response = act()
        record.status = response.status_code
        record.body = _without(response.data, redact)
        record.save(update_fields=["status", "body"])
        return response


@dataclass(frozen=True)
class Claim:
    """The right to do something once. `answer` is what the first request led to, if it did."""

    record: IdempotencyRecord | None  # None: no key was sent, so nothing is kept
    answer: Any = None

    def keep(self, answer: dict[str, Any]) -> None:
        """It is done: this is what a retry gets."""
        self._row().update(status=200, body=_without(answer, ()))

    def release(self) -> None:
        """Nothing was done: a retry may try again."""
        self._row().delete()

    def _row(self) -> QuerySet[IdempotencyRecord]:
        if self.record is None:
            return IdempotencyRecord.objects.none()
        return IdempotencyRecord.objects.filter(pk=self.record.pk)


def claim(request: Request, scope: str) -> Claim:
    """Raises IdempotencyInProgress where the first request has no answer (yet)."""
    key = _key_of(request)
    if key is None:
        return Claim(None)
    with transaction.atomic():
        record, mine = _claim(scope, key, _fingerprint(request))
    if not mine and record.status is None:
        raise IdempotencyInProgress
    return Claim(record, record.body)


def _key_of(request: Request) -> str | None:
    key = request.headers.get(HEADER)
    if key is not None and not (1 <= len(key) <= 128 and key.isascii() and key.isprintable()):
        raise Invalid(HEADER, f"{HEADER} must be 1 to 128 printable ASCII characters.")
    return key


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
