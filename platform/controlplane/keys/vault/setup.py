"""Setting up a vault that is there already, over its API, with an administrator's token.

Everything is an ensure: a second run changes what has changed and makes nothing twice.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import hvac
import requests
from hvac import exceptions

TIMEOUT = 10  # seconds


class SetupFailed(Exception):
    """The text says what to do."""


class Admin:
    def __init__(self, address: str, token: str, namespace: str = "") -> None:
        self.address = address
        self._client = hvac.Client(
            url=address, token=token, timeout=TIMEOUT, namespace=namespace or None
        )
        self._client.session.trust_env = False

    def ensure_store(self, mount: str) -> None:
        """A key-value store of version 2."""
        with self._telling(f"make the store {mount}"):
            found = self._client.sys.list_mounted_secrets_engines()["data"].get(f"{mount}/")
            if found is None:
                options = {"version": "2"}
                self._client.sys.enable_secrets_engine("kv", path=mount, options=options)
            elif found["type"] != "kv" or (found.get("options") or {}).get("version") != "2":
                raise SetupFailed(
                    f"The vault has something else at {mount}, not a key-value store of version 2. "
                    "Give another name with --mount."
                )

    def ensure_approle(self, mount: str) -> None:
        with self._telling("switch on AppRole"):
            if f"{mount}/" not in self._client.sys.list_auth_methods()["data"]:
                self._client.sys.enable_auth_method("approle", path=mount)

    def ensure_policy(self, name: str, text: str) -> None:
        with self._telling(f"write the policy {name}"):
            self._client.sys.create_or_update_policy(name, text)

    def ensure_role(self, mount: str, name: str, fields: Mapping[str, object]) -> str:
        """Its role id, which is no secret."""
        with self._telling(f"write the role {name}"):
            path = f"auth/{mount}/role/{name}"
            self._client.write_data(path, data=dict(fields))
            return str(self._client.read(f"{path}/role-id")["data"]["role_id"])

    def new_secret_id(self, mount: str, name: str) -> str:
        with self._telling(f"make a secret id for {name}"):
            answer = self._client.write_data(f"auth/{mount}/role/{name}/secret-id", data={})
            return str(answer["data"]["secret_id"])

    def can_sign_in(self, mount: str, role_id: str, secret_id: str) -> bool:
        client = hvac.Client(
            url=self.address,
            token="",
            timeout=TIMEOUT,
            namespace=self._client.adapter.namespace,
        )
        with self._telling("sign in"):
            try:
                client.auth.approle.login(role_id, secret_id, mount_point=mount)
            except (exceptions.InvalidRequest, exceptions.Forbidden):
                return False
            client.auth.token.revoke_self()
            return True

    def audit_devices(self) -> list[str]:
        with self._telling("list its audit devices"):
            return sorted(self._client.sys.list_enabled_audit_devices()["data"])

    def forgets(self) -> bool:
        """Whether it keeps everything in memory (dev mode)."""
        with self._telling("ask for its state"):
            return str(self._client.seal_status.get("storage_type", "")).startswith("inmem")

    @contextmanager
    def _telling(self, what: str) -> Iterator[None]:
        try:
            yield
        except exceptions.Forbidden:
            raise SetupFailed(
                f"The token may not {what}. Use one with an administrator's rights."
            ) from None
        except exceptions.VaultDown:
            raise SetupFailed("The vault is sealed. Unseal it, then run this again.") from None
        except exceptions.VaultError as error:
            raise SetupFailed(f"The vault did not {what}: {type(error).__name__}.") from None
        except requests.RequestException as error:
            raise SetupFailed(
                f"The vault at {self.address} cannot be reached ({type(error).__name__}). Check "
                "the address, and its certificate (VAULT_CACERT)."
            ) from None
