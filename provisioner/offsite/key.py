"""What an organisation's off-site snapshots are encrypted with: made once, kept in the vault.

Only the provisioner's role may read it. Whoever loses it loses every off-site snapshot of the
organisation; whoever forgets it on purpose has deleted them all.
"""

import base64
import secrets

from controlplane.keys.vault import SecretMissing, Vault

# Below `agents/`, where the provisioner's role may write; no agent has such an id.
FOLDER = "agents/backup-keys"
FIELD = "restic"
BYTES = 32


def vault_path(organisation_id: str) -> str:
    return f"{FOLDER}/{organisation_id}"


def backup_key(vault: Vault, organisation_id: str) -> str:
    """Raises VaultUnavailable."""
    path = vault_path(organisation_id)
    try:
        return vault.read(path)[FIELD]
    except SecretMissing:
        fresh = base64.b64encode(secrets.token_bytes(BYTES)).decode()
        vault.write_if_missing(path, {FIELD: fresh})
        return vault.read(path)[FIELD]  # of two at once, one was kept


def forget(vault: Vault, organisation_id: str) -> None:
    """For good: nothing of the organisation's off-site snapshots can be read any more."""
    vault.delete(vault_path(organisation_id))
