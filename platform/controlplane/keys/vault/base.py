from collections.abc import Mapping
from typing import Protocol

from controlplane.errors import Unavailable


class VaultUnavailable(Unavailable):
    """Sealed, down, or not letting us in: try again later; running agents do not notice."""

    code = "vault_unavailable"

    def __init__(self, why: str = "it does not answer") -> None:
        super().__init__(
            f"The vault cannot be used: {why}. Nothing was stored. Running agents go on; "
            "try again in a moment, or ask your operator."
        )


class SecretMissing(Exception):
    """Nothing lies at this path (any more)."""


class Vault(Protocol):
    """A versioned key-value store. Paths are ours, never a customer's text.

    Every call may raise VaultUnavailable. The web process's role may write and delete
    below `orgs/` but not read; the provisioner's may read all, and write below `agents/`.
    """

    def write(self, path: str, values: Mapping[str, str]) -> int:
        """Store a new version; returns its number, from 1."""

    def read(self, path: str, version: int | None = None) -> dict[str, str]:
        """That version, or the newest. Raises SecretMissing."""

    def write_if_missing(self, path: str, values: Mapping[str, str]) -> bool:
        """Store version 1 unless something is there; whether it did. Two at once: one wins."""

    def destroy_before(self, path: str, version: int) -> None:
        """Remove for good what earlier versions held."""

    def delete(self, path: str) -> None:
        """Remove every version; absent counts as removed."""

    def names(self, folder: str) -> list[str]:
        """What lies directly in the folder; folders in it end with a slash."""

    def refuse_forgetful(self) -> None:
        """Raises ImproperlyConfigured where it keeps nothing over a restart."""
