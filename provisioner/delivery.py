"""What an agent boots with, read from the vault: its own secrets, its model's key, others."""

import secrets
from collections.abc import Mapping

from controlplane.agents.models import Agent, Release
from controlplane.keys.delivery import read_key, read_secret
from controlplane.keys.models import Key, Secret
from controlplane.keys.vault import SecretMissing, Vault
from provisioner.secrets import Delivery
from runtimes.catalog import CATALOG

TOKEN_BYTES = 24
STANDIN_KEY = "roost-standin"  # no secret: the local stand-in model takes any key
GATEWAY = "gateway"
OWN = "own."  # what comes before the names of an agent's own secrets in its vault entry


class KeyGone(Exception):
    """A key or secret of the release was revoked, or its value is not in the vault."""

    def __init__(self, noun: str, name: str) -> None:
        super().__init__(
            f"Its {noun} {name} is revoked or missing, so it cannot start. Choose another {noun} "
            "in its settings."
        )


def vault_path(agent_id: str) -> str:
    return f"agents/{agent_id}"


def read(vault: Vault, agent: Agent, release: Release) -> Delivery:
    """Raises VaultUnavailable, KeyGone."""
    kept = _kept(vault, agent)
    named = list(release.secrets.all())
    values = {secret: _secret(vault, secret) for secret in named}
    things: list[Key | Secret] = [*([release.key] if release.key else []), *named]
    return Delivery(
        gateway=kept[GATEWAY],
        provider_key=_provider_key(vault, release),
        own={name.removeprefix(OWN): text for name, text in kept.items() if name.startswith(OWN)},
        secrets={
            secret.name: value.decode() for secret, value in values.items() if secret.kind == "env"
        },
        files={secret.name: value for secret, value in values.items() if secret.kind == "file"},
        versions={thing.pk: thing.version for thing in things},
    )


def keep(vault: Vault, agent: Agent, own: Mapping[str, str]) -> None:
    """Add to the agent's own secrets, or change them; nothing is written where all is the same."""
    kept = _kept(vault, agent)
    changed = kept | {f"{OWN}{name}": value for name, value in own.items()}
    if changed != kept:
        vault.write(vault_path(agent.pk), changed)


def inherit(vault: Vault, source: Agent, agent: Agent) -> None:
    """A fork's runtime signs in with what its origin's first run made; the rest is its own."""
    theirs = _kept(vault, source)
    own = {name: text for name, text in theirs.items() if name.startswith(OWN)}
    vault.write_if_missing(vault_path(agent.pk), {GATEWAY: _token(), **own})


def forget(vault: Vault, agent: Agent) -> None:
    vault.delete(vault_path(agent.pk))


def _kept(vault: Vault, agent: Agent) -> dict[str, str]:
    """The agent's entry, made at its first boot; a runtime's later version may want more."""
    path, names = vault_path(agent.pk), CATALOG[agent.runtime].own_secrets
    wanted = [GATEWAY, *(f"{OWN}{name}" for name in names)]
    try:
        kept = vault.read(path)
    except SecretMissing:
        kept = {name: _token() for name in wanted}
        if not vault.write_if_missing(path, kept):
            kept = vault.read(path)
    missing = [name for name in wanted if name not in kept]
    if missing:
        kept = kept | {name: _token() for name in missing}
        vault.write(path, kept)
    return kept


def _token() -> str:
    return secrets.token_hex(TOKEN_BYTES)


def _provider_key(vault: Vault, release: Release) -> str:
    key = release.key
    if key is None:
        return STANDIN_KEY
    try:
        if key.revoked_at is None:
            return read_key(vault, key)
    except SecretMissing:
        pass
    raise KeyGone("key", key.name)


def _secret(vault: Vault, secret: Secret) -> bytes:
    try:
        if secret.revoked_at is None:
            return read_secret(vault, secret)
    except SecretMissing:
        pass
    raise KeyGone("secret", secret.name)
