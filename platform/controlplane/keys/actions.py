"""Everything that changes a key or a secret. The value goes straight to the vault and is kept
nowhere else.

Agents that use one are the business of controlplane.agents.keyring, which calls these.
"""

import logging
from typing import TypeVar

from django.db import IntegrityError, transaction
from django.utils.timezone import now
from django.views.decorators.debug import sensitive_variables

from controlplane.audit.record import record
from controlplane.errors import Invalid
from controlplane.keys import delivery
from controlplane.keys.checking import Checked, ask
from controlplane.keys.errors import KeyNameTaken, KeyRevoked
from controlplane.keys.models import Key, Kind, Provider, Secret
from controlplane.keys.rules import (
    check_base_url,
    check_secret_name,
    check_value,
    secret_bytes,
)
from controlplane.keys.vault import VaultUnavailable, get_vault
from controlplane.naming import check_title
from controlplane.tenants.access import Access

log = logging.getLogger(__name__)
Thing = TypeVar("Thing", Key, Secret)


@sensitive_variables("value")
def examine_key(access: Access, *, provider: str, value: str, base_url: str = "") -> Checked:
    """All that can be known of a key before it is stored. Asks its provider, which may take
    seconds: call it outside of a transaction and hand on what it says."""
    access.require("keys:write")
    if provider not in Provider.values:
        raise Invalid("provider", f"There is no provider {provider!r}.")
    check_value(provider, value)
    check_base_url(provider, base_url)
    return ask(provider, value, base_url)


@sensitive_variables("value")
def add_key(
    access: Access,
    *,
    name: str,
    provider: str,
    value: str,
    base_url: str = "",
    checked: Checked | None = None,
) -> Key:
    access.require("keys:write")
    check_title(name)
    checked = checked or examine_key(access, provider=provider, value=value, base_url=base_url)
    key = Key(
        organisation=access.organisation,
        name=name,
        provider=provider,
        base_url=base_url,
        hint=_hint(value),
        checked_at=checked.at,
        check_message=checked.message,
        models=checked.models,
        created_by=access.user,
    )
    return _add(access, key, {delivery.VALUE: value})


@sensitive_variables("value")
def rotate_key(access: Access, key: Key, *, value: str, checked: Checked | None = None) -> Key:
    """Store a new version; the old value is destroyed."""
    checked = checked or examine_key(
        access, provider=key.provider, value=value, base_url=key.base_url
    )
    access.require("keys:write")
    with transaction.atomic():
        key = locked(key)
        key.hint = _hint(value)
        key.checked_at, key.check_message = checked.at, checked.message
        # Not asked is not known: what the old value could use says little about the new one.
        key.models = checked.models
        _rotate(access, key, {delivery.VALUE: value})
        key.save()
    return key


def revoke_key(access: Access, key: Key) -> Key:
    """Forget the value for good."""
    return _revoke(access, key)


@sensitive_variables("value", "value_base64", "data")
def add_secret(
    access: Access,
    *,
    name: str,
    kind: str = Kind.ENV,
    value: str | None = None,
    value_base64: str | None = None,
) -> Secret:
    """The value is text, or any bytes in base64; agents get exactly these bytes."""
    access.require("keys:write")
    check_secret_name(name)
    data = secret_bytes(kind, value, value_base64)
    secret = Secret(
        organisation=access.organisation,
        name=name,
        kind=kind,
        size=len(data),
        created_by=access.user,
    )
    return _add(access, secret, delivery.encoded(data))


@sensitive_variables("value", "value_base64", "data")
def rotate_secret(
    access: Access, secret: Secret, *, value: str | None = None, value_base64: str | None = None
) -> Secret:
    """Store a new version; the old value is destroyed."""
    access.require("keys:write")
    data = secret_bytes(secret.kind, value, value_base64)
    with transaction.atomic():
        secret = locked(secret)
        secret.size = len(data)
        _rotate(access, secret, delivery.encoded(data))
        secret.save()
    return secret


def revoke_secret(access: Access, secret: Secret) -> Secret:
    """Forget the value for good."""
    return _revoke(access, secret)


def locked(thing: Thing) -> Thing:
    """Raises KeyRevoked."""
    # Weaker than a lock against deletion: an agent that is being given it need not wait.
    rows = type(thing).objects.select_for_update(no_key=True)
    found: Thing = rows.get(pk=thing.pk)
    if found.revoked_at is not None:
        raise KeyRevoked(found.name, noun(found))
    return found


def noun(thing: Key | Secret) -> str:
    return "key" if isinstance(thing, Key) else "secret"


def _add(access: Access, thing: Thing, values: dict[str, str]) -> Thing:
    with transaction.atomic():
        try:
            with transaction.atomic():
                thing.save(force_insert=True)
        except IntegrityError as error:
            raise KeyNameTaken(thing.name, noun(thing)) from error
        # Last in the transaction: a vault that is away leaves no row behind.
        thing.version = get_vault().write(thing.vault_path, values)
        thing.save(update_fields=["version"])
        _record(access, "added", thing)
    return thing


def _rotate(access: Access, thing: Key | Secret, values: dict[str, str]) -> None:
    """Should this transaction fail, the vault holds a version that no row speaks of."""
    thing.rotated_at = now()
    thing.version = get_vault().write(thing.vault_path, values)
    _record(access, "rotated", thing)
    transaction.on_commit(lambda: _destroy_old(thing), robust=True)


def _destroy_old(thing: Key | Secret) -> None:
    try:
        get_vault().destroy_before(thing.vault_path, thing.version)
    except VaultUnavailable:
        # Nobody is given it any more, and the next rotation destroys it too.
        log.warning("the vault still holds the old value of %s", thing.pk)


def _revoke(access: Access, thing: Thing) -> Thing:
    access.require("keys:write")
    with transaction.atomic():
        thing = locked(thing)
        thing.revoked_at = now()
        thing.save(update_fields=["revoked_at"])
        get_vault().delete(thing.vault_path)
        _record(access, "revoked", thing)
    return thing


def _hint(value: str) -> str:
    """Four of at least sixteen characters tell keys apart and help nobody guess; else none."""
    return value[-4:] if len(value) >= 16 else ""


def _record(access: Access, verb: str, thing: Key | Secret) -> None:
    kind = {"provider": thing.provider} if isinstance(thing, Key) else {"kind": thing.kind}
    record(
        access.actor,
        f"{noun(thing)}.{verb}",
        thing.pk,
        organisation=thing.organisation_id,
        label=thing.name,
        data={**kind, "version": thing.version},
    )
