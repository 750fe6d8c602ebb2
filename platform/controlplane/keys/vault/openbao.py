"""OpenBao or HashiCorp Vault, by AppRole and KV version 2: only calls that both know."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import requests
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from hvac import Client, exceptions

from controlplane.keys.vault.base import SecretMissing, VaultUnavailable
from controlplane.keys.vault.session import FORGETFUL, Session

T = TypeVar("T")
KEPT = 10  # versions that a path keeps unless the vault was told otherwise


class OpenBaoVault:
    def __init__(self) -> None:
        self.session = Session()
        self.mount = settings.VAULT_MOUNT

    def write(self, path: str, values: Mapping[str, str]) -> int:
        answer = self._call(
            lambda kv: kv.create_or_update_secret(path, dict(values), mount_point=self.mount)
        )
        return int(answer["data"]["version"])

    def read(self, path: str, version: int | None = None) -> dict[str, str]:
        answer = self._call(
            lambda kv: kv.read_secret_version(
                path, version=version, mount_point=self.mount, raise_on_deleted_version=True
            )
        )
        values: dict[str, str] = answer["data"]["data"]
        return values

    def write_if_missing(self, path: str, values: Mapping[str, str]) -> bool:
        def write(kv: Any) -> bool:
            try:
                kv.create_or_update_secret(path, dict(values), cas=0, mount_point=self.mount)
            except exceptions.InvalidRequest as error:
                if "check-and-set" not in str(error):
                    raise
                return False
            return True

        return self._call(write)

    def destroy_before(self, path: str, version: int) -> None:
        earlier = list(range(max(1, version - KEPT), version))
        if earlier:
            self._call(lambda kv: kv.destroy_secret_versions(path, earlier, mount_point=self.mount))

    def delete(self, path: str) -> None:
        try:
            self._call(lambda kv: kv.delete_metadata_and_all_versions(path, mount_point=self.mount))
        except SecretMissing:
            return

    def names(self, folder: str) -> list[str]:
        try:
            answer = self._call(lambda kv: kv.list_secrets(folder, mount_point=self.mount))
        except SecretMissing:
            return []
        found: list[str] = answer["data"]["keys"]
        return found

    def refuse_forgetful(self) -> None:
        """At the start of a production. Raises ImproperlyConfigured; away says nothing yet."""
        try:
            forgetful = self.session.is_forgetful()
        except (exceptions.VaultError, requests.RequestException):
            return  # asked again at the first sign-in
        if forgetful:
            raise ImproperlyConfigured(
                f"The vault at {settings.VAULT_ADDR} cannot be used: {FORGETFUL}. Give VAULT_ADDR "
                "of one with storage on a disk."
            )

    def _call(self, act: Callable[[Any], T]) -> T:
        def on_kv(client: Client) -> T:
            return act(client.secrets.kv.v2)

        try:
            return self.session.call(on_kv)
        except exceptions.InvalidPath as error:
            raise SecretMissing(str(error)) from error
        except exceptions.InvalidRequest:
            raise VaultUnavailable("it refused the request") from None
