"""OpenBao or HashiCorp Vault, by AppRole and KV version 2. Nothing else imports hvac."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import hvac
import requests
from django.conf import settings
from hvac import exceptions

from controlplane.keys.vault.base import SecretMissing, VaultUnavailable

T = TypeVar("T")
TIMEOUT = 3  # seconds; the client's own default of 30 would hold up a request


class OpenBaoVault:
    """Signs in on first use and again when its token has run out.

    Safe to share by threads, and without a lock: of two that sign in at once each gets a token
    that is good, and a vault that hangs holds up each caller for one time-out only.
    """

    def __init__(self) -> None:
        self.client = hvac.Client(url=settings.VAULT_ADDR, timeout=TIMEOUT)
        self.mount = settings.VAULT_MOUNT

    def write(self, path: str, values: Mapping[str, str]) -> int:
        answer = self._call(
            lambda kv: kv.create_or_update_secret(path, dict(values), mount_point=self.mount)
        )
        return int(answer["data"]["version"])

    def read(self, path: str) -> dict[str, str]:
        answer = self._call(
            lambda kv: kv.read_secret_version(
                path, mount_point=self.mount, raise_on_deleted_version=True
            )
        )
        values: dict[str, str] = answer["data"]["data"]
        return values

    def write_if_missing(self, path: str, values: Mapping[str, str]) -> None:
        def write(kv: Any) -> None:
            try:
                kv.create_or_update_secret(path, dict(values), cas=0, mount_point=self.mount)
            except exceptions.InvalidRequest as error:
                if "check-and-set" not in str(error):
                    raise

        self._call(write)

    def delete(self, path: str) -> None:
        try:
            self._call(lambda kv: kv.delete_metadata_and_all_versions(path, mount_point=self.mount))
        except SecretMissing:
            return

    def _call(self, act: Callable[[Any], T]) -> T:
        try:
            if not self.client.token:
                self._sign_in()
            try:
                return act(self.client.secrets.kv.v2)
            except exceptions.Forbidden:
                # A token that ran out looks like a token that may not: sign in once and see.
                self._sign_in()
                return act(self.client.secrets.kv.v2)
        except exceptions.InvalidPath as error:
            raise SecretMissing(str(error)) from error
        except exceptions.VaultDown as error:
            raise VaultUnavailable("it is sealed") from error
        except exceptions.Forbidden as error:
            raise VaultUnavailable("it does not let this process do that") from error
        except exceptions.InvalidRequest:
            raise VaultUnavailable("it refused the request") from None
        except (exceptions.VaultError, requests.RequestException) as error:
            # `from None`: a request's exception carries the request, and that the value.
            raise VaultUnavailable(f"it does not answer ({type(error).__name__})") from None

    def _sign_in(self) -> None:
        try:
            self.client.auth.approle.login(settings.VAULT_ROLE_ID, settings.VAULT_SECRET_ID)
        except (exceptions.InvalidRequest, exceptions.Forbidden):
            # `from None`: whose request this was is no secret, what it held is.
            raise VaultUnavailable("it does not let this process in") from None
