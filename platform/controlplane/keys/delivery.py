"""What the node's side reads from the vault: exactly the value that the row speaks of.

A rotation writes to the vault first and to the database last, so the vault may hold a newer value
that was never accepted, and may already have lost the one that a row read earlier speaks of.
"""

import base64

from controlplane.keys.models import Key, Secret
from controlplane.keys.vault import SecretMissing, Vault

VALUE, BASE64 = "value", "base64"


def read_key(vault: Vault, key: Key) -> str:
    """Afterwards `key.version` is the version of what was read. Raises SecretMissing,
    VaultUnavailable."""
    return _read(vault, key)[VALUE]


def read_secret(vault: Vault, secret: Secret) -> bytes:
    """The same for a secret, byte for byte."""
    return base64.b64decode(_read(vault, secret)[BASE64])


def _read(vault: Vault, thing: Key | Secret) -> dict[str, str]:
    try:
        return vault.read(thing.vault_path, thing.version)
    except SecretMissing:
        known = thing.version
        thing.refresh_from_db(fields=["version", "revoked_at"])
        if thing.revoked_at is not None or thing.version == known:
            raise
        return vault.read(thing.vault_path, thing.version)


def encoded(data: bytes) -> dict[str, str]:
    """How a secret lies in the vault, whose values are text."""
    return {BASE64: base64.b64encode(data).decode()}
