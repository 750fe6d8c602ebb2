"""A vault in memory, for tests of logic. Forgets all at exit; production refuses it."""

from collections.abc import Mapping

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from controlplane.keys.vault.base import SecretMissing, VaultUnavailable


class MemoryVault:
    def __init__(self) -> None:
        if settings.VAULT_MUST_BE_DURABLE:
            raise ImproperlyConfigured("The in-memory vault forgets every key; use a real one.")
        # Of each path its versions; None where one was destroyed.
        self.values: dict[str, list[dict[str, str] | None]] = {}
        self.sealed = False

    def refuse_forgetful(self) -> None:
        """Whoever minds cannot make one."""

    def _open(self) -> None:
        if self.sealed:
            raise VaultUnavailable("it is sealed")

    def write(self, path: str, values: Mapping[str, str]) -> int:
        self._open()
        versions = self.values.setdefault(path, [])
        versions.append(dict(values))
        return len(versions)

    def read(self, path: str, version: int | None = None) -> dict[str, str]:
        self._open()
        versions = self.values.get(path, [])
        number = version or len(versions)
        found = versions[number - 1] if 0 < number <= len(versions) else None
        if found is None:
            raise SecretMissing(path)
        return found

    def write_if_missing(self, path: str, values: Mapping[str, str]) -> bool:
        self._open()
        mine: list[dict[str, str] | None] = [dict(values)]
        return self.values.setdefault(path, mine) is mine

    def destroy_before(self, path: str, version: int) -> None:
        self._open()
        versions = self.values.get(path, [])
        versions[: version - 1] = [None] * len(versions[: version - 1])

    def names(self, folder: str) -> list[str]:
        self._open()
        below = [
            path.removeprefix(f"{folder}/") for path in self.values if path.startswith(f"{folder}/")
        ]
        return sorted({name.partition("/")[0] + "/" * ("/" in name) for name in below})

    def delete(self, path: str) -> None:
        self._open()
        self.values.pop(path, None)
