"""Everything that changes a key. The value goes straight to the vault and is kept nowhere else."""

from django.db import IntegrityError, transaction
from django.utils.timezone import now
from django.views.decorators.debug import sensitive_variables

from controlplane.audit.record import record
from controlplane.errors import Invalid
from controlplane.keys.errors import KeyNameTaken, KeyRevoked
from controlplane.keys.models import Key, Provider
from controlplane.keys.rules import check_base_url, check_value
from controlplane.keys.vault import get_vault
from controlplane.naming import check_title
from controlplane.tenants.access import Access


@sensitive_variables("value")
def add_key(access: Access, *, name: str, provider: str, value: str, base_url: str = "") -> Key:
    access.require("keys:write")
    if provider not in Provider.values:
        raise Invalid("provider", f"There is no provider {provider!r}.")
    check_title(name)
    check_value(provider, value)
    check_base_url(provider, base_url)
    with transaction.atomic():
        try:
            with transaction.atomic():
                key = Key.objects.create(
                    organisation=access.organisation,
                    name=name,
                    provider=provider,
                    base_url=base_url,
                    hint=_hint(value),
                    created_by=access.user,
                )
        except IntegrityError as error:
            raise KeyNameTaken(name) from error
        # Last in the transaction: a vault that is away leaves no row behind.
        key.version = get_vault().write(key.vault_path, {"value": value})
        key.save(update_fields=["version"])
        _record(access, "key.added", key)
    return key


@sensitive_variables("value")
def rotate_key(access: Access, key: Key, *, value: str) -> Key:
    """Store a new version. Agents have it from their next start."""
    access.require("keys:write")
    check_value(key.provider, value)
    with transaction.atomic():
        key = _locked(key)
        key.hint, key.rotated_at = _hint(value), now()
        key.version = get_vault().write(key.vault_path, {"value": value})
        key.save(update_fields=["hint", "version", "rotated_at"])
        _record(access, "key.rotated", key)
    return key


def revoke_key(access: Access, key: Key) -> None:
    """Forget the value for good. Agents that run keep what they hold until they restart."""
    access.require("keys:write")
    with transaction.atomic():
        key = _locked(key)
        key.revoked_at = now()
        key.save(update_fields=["revoked_at"])
        get_vault().delete(key.vault_path)
        _record(access, "key.revoked", key)


def _locked(key: Key) -> Key:
    key = Key.objects.select_for_update().get(pk=key.pk)
    if key.revoked_at is not None:
        raise KeyRevoked(key.name)
    return key


def _hint(value: str) -> str:
    """Four of at least sixteen characters tell keys apart and help nobody guess; else none."""
    return value[-4:] if len(value) >= 16 else ""


def _record(access: Access, action: str, key: Key) -> None:
    record(
        access.actor,
        action,
        key.pk,
        organisation=key.organisation_id,
        label=key.name,
        data={"provider": key.provider, "version": key.version},
    )
