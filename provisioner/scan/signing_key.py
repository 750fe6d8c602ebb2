"""The key that signs reports: made at the first scan, kept in the vault, its public half told."""

import base64
import hashlib
import hmac

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from controlplane.keys.vault import SecretMissing, Vault
from controlplane.scans.models import ScanKey
from controlplane.scans.signing import key_id

# Below `agents/`, where the provisioner's role may write; no agent has such an id.
PATH = "agents/scan-signing-key"
FIELD = "ed25519"


def signing_key(vault: Vault) -> Ed25519PrivateKey:
    """Raises VaultUnavailable."""
    try:
        kept = vault.read(PATH)
    except SecretMissing:
        fresh = Ed25519PrivateKey.generate().private_bytes_raw()
        vault.write_if_missing(PATH, {FIELD: base64.b64encode(fresh).decode()})
        kept = vault.read(PATH)  # of two at once, one was kept
    key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(kept[FIELD]))
    public = key.public_key().public_bytes_raw()
    ScanKey.objects.get_or_create(
        id=key_id(public), defaults={"public_key": base64.b64encode(public).decode()}
    )
    return key


def fingerprint(key: Ed25519PrivateKey, value: bytes) -> str:
    """Tells two values apart, and helps nobody to guess one who has not the key."""
    secret = hmac.digest(key.private_bytes_raw(), b"roost fingerprint", hashlib.sha256)
    return hmac.digest(secret, value, hashlib.sha256).hex()[:12]
