"""Where secret values live. The database holds their names; this holds them."""

from functools import cache

from django.conf import settings
from django.utils.module_loading import import_string

from controlplane.keys.vault.base import SecretMissing, Vault, VaultUnavailable

__all__ = ["SecretMissing", "Vault", "VaultUnavailable", "get_vault"]


@cache
def get_vault() -> Vault:
    """This process's vault, signed in with this process's role."""
    vault: Vault = import_string(settings.VAULT_BACKEND)()
    return vault
