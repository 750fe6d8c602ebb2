"""A vault in memory, for tests of logic. Forgets all at exit; production refuses it."""

from collections.abc import Mapping

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from controlplane.keys.vault.base import SecretMissing, VaultUnavailable


class MemoryVault:
    def __init__(self) -> None:
        if settings.SETTINGS_MODULE == "controlplane.settings.production":
            raise ImproperlyConfigured("The in-memory vault forgets every key; use a real one.")
        self.values: dict[str, list[dict[str, str]]] = {}
        self.sealed = False

    def _open(self) -> None:
        if self.sealed:
            raise VaultUnavailable("it is sealed")

    def write(self, path: str, values: Mapping[str, str]) -> int:
        self._open()
        versions = self.values.setdefault(path, [])
        versions.append(dict(values))
        return len(versions)

    def read(self, path: str) -> dict[str, str]:
        self._open()
        if path not in self.values:
            raise SecretMissing(path)
        return self.values[path][-1]

    def write_if_missing(self, path: str, values: Mapping[str, str]) -> None:
        self._open()
        self.values.setdefault(path, [dict(values)])

    def delete(self, path: str) -> None:
        self._open()
        self.values.pop(path, None)
