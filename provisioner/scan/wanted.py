"""What to look for: every live secret of an agent, from the vault and from what was delivered."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from controlplane.agents.models import Agent
from controlplane.keys.delivery import read_key, read_secret
from controlplane.keys.vault import SecretMissing
from provisioner.backend import Backend
from provisioner.delivery import OWN, STANDIN_KEY, vault_path
from provisioner.scan.needles import Secret
from provisioner.secrets import FILE, FILES, FakeKeys
from runtimes.catalog import CATALOG

PROVIDER_KEY = "provider key"
DELIVERED = "as delivered"  # beside the name of a value that the vault has replaced since
_NAMES = {"provider_key": PROVIDER_KEY, "gateway": "gateway token"}
SECRET_WORDS = ("token", "key", "secret", "password", "cookie", "session", "master")
_FOLDER_INSIDE = f"/roost/keys/{FILES}/"  # where the agent sees its files: no secret


def wanted(backend: Backend, agent: Agent) -> list[Secret]:
    """Each value once, under its first name. Raises VaultUnavailable."""
    found: dict[bytes, Secret] = {}
    taken: set[str] = set()
    for secret in _in_vault(backend, agent):
        found.setdefault(secret.value, secret)
        taken |= {secret.name, PROVIDER_KEY if secret.name.startswith(PROVIDER_KEY) else ""}
    for secret in _delivered(backend, agent):
        other = f"{secret.name}, {DELIVERED}" if secret.name in taken else secret.name
        found.setdefault(secret.value, replace(secret, name=other))
    found.pop(STANDIN_KEY.encode(), None)
    found.pop(b"", None)
    return list(found.values())


def _in_vault(backend: Backend, agent: Agent) -> Iterator[Secret]:
    try:
        own = backend.vault.read(vault_path(agent.pk))
    except SecretMissing:  # it never booted
        own = {}
    for name, text in own.items():
        yield _own(agent, name, text)
    release = agent.release
    if release is None:
        return
    try:
        if release.key is not None:
            value = read_key(backend.vault, release.key).encode()
            name = f"{PROVIDER_KEY} {release.key.name}"
            yield Secret(name, value, release.key.version, surely=True)
    except SecretMissing:  # revoked: what an agent still holds of it was delivered
        pass
    for named in release.secrets.all():
        try:
            yield Secret(f"secret {named.name}", read_secret(backend.vault, named), named.version)
        except SecretMissing:
            continue


def _own(agent: Agent, name: str, text: str) -> Secret:
    """A runtime's set-up may come back with the id of an account beside its token."""
    bare = name.removeprefix(OWN)
    named = {"gateway", *CATALOG[agent.runtime].own_secrets}
    secret = bare in named or any(word in bare.lower() for word in SECRET_WORDS)
    return Secret(_NAMES.get(bare, f"own secret {bare}"), text.encode(), identifier=not secret)


def _delivered(backend: Backend, agent: Agent) -> Iterator[Secret]:
    if isinstance(backend.keys, FakeKeys):
        delivery = backend.keys.delivered.get(agent.pk)
        payload, files = (delivery.payload(), delivery.files) if delivery else ({}, {})
    else:
        payload, files = _read(Path(backend.keys.directory(agent.pk)))
    for name in _NAMES:
        if text := payload.get(name):
            yield Secret(_NAMES[name], text.encode(), surely=_NAMES[name] == PROVIDER_KEY)
    for name, text in payload.get("own", {}).items():
        yield _own(agent, name, text)
    for name, text in payload.get("secrets", {}).items():
        if not text.startswith(_FOLDER_INSIDE):
            yield Secret(f"secret {name}", text.encode())
    for name, value in files.items():
        yield Secret(f"secret {name}", value)


def _read(folder: Path) -> tuple[dict[str, Any], Mapping[str, bytes]]:
    """Nothing where nothing was delivered."""
    try:
        payload = json.loads((folder / FILE).read_bytes())
        files = {path.name: path.read_bytes() for path in (folder / FILES).glob("*")}
    except (OSError, ValueError):
        return {}, {}
    return payload, files
