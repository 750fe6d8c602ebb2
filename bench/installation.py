"""A whole installation of its own beside any other, started by `make up`'s own program."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx

from bench import containers
from deploy.local import credentials, network
from deploy.local.layout import REPOSITORY, from_environ
from deploy.local.up import product

PLACE = {
    "ROOST_PORT": "8720",
    "ROOST_INSTALLATION": "bench",
    "ROOST_NETWORK_POOL": "10.216.0.0/16",
}
COMMAND_S = 1800  # the images may be missing
PATIENCE_S = 120
POLL = 0.05  # seconds between two questions, to the API and to an agent alike


class Stuck(Exception):
    """It did not come to be in time."""


@dataclass(frozen=True)
class Installation:
    state: Path

    @property
    def environment(self) -> dict[str, str]:
        dropped = ("ROOST_", "DJANGO_", "DATABASE_", "REDIS_", "VAULT_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        return {**kept, **PLACE, "ROOST_STATE_DIR": str(self.state)}

    def command(self, *words: str) -> None:
        """One of `python -m deploy.local`. Raises Stuck with what it said."""
        done = subprocess.run(
            [sys.executable, "-m", "deploy.local", *words],
            cwd=REPOSITORY,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )
        if done.returncode:
            raise Stuck(f"{' '.join(words)} failed: {done.stdout[-1500:]}{done.stderr[-1500:]}")

    @cached_property
    def facts(self) -> dict[str, str]:
        facts: dict[str, str] = json.loads((self.state / "local.json").read_text())
        return facts

    @cached_property
    def _client(self) -> httpx.Client:
        return httpx.Client(
            base_url=f"{self.facts['url']}/api/v1/orgs/{self.facts['org']}",
            headers={"Authorization": f"Bearer {self.facts['token']}"},
            timeout=60,
            trust_env=False,
        )

    def api(self, method: str, path: str, **options: Any) -> Any:
        """The body of a 2xx answer. Raises httpx.HTTPError."""
        answer = self._client.request(method, path, **options)
        answer.raise_for_status()
        return answer.json()

    def agent(self, agent_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.api("GET", f"/agents/{agent_id}")
        return found

    def create(self, name: str, runtime: str = "hermes") -> str:
        """Accepted; returns its id. The same settings for all, and for the bare ones."""
        body = {"name": name, "runtime": runtime, "disk_gib": 1, "egress": "none"}
        return str(self.api("POST", "/agents", json=body)["id"])

    def insist(self, method: str, path: str, **options: Any) -> Any:
        """Like `api`, asked again while some part is on its way back. Raises Stuck."""
        found: list[Any] = []

        def ask() -> bool:
            found.append(self.api(method, path, **options))
            return True

        wait(ask, PATIENCE_S, f"an answer to {method} {path}")
        return found[0]

    def delete(self, agent_id: str) -> None:
        """Waits until its container is gone too."""
        self.insist("DELETE", f"/agents/{agent_id}")
        wait(lambda: not containers.labelled("roost.agent", agent_id), 60, "a deletion")

    def supervisor(self, verb: str, *programs: str) -> str:
        config = str(self.state / "supervisord.conf")
        argv = [sys.executable, "-m", "supervisor.supervisorctl", "-c", config, verb, *programs]
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout

    def node_environment(self) -> dict[str, str]:
        """What its provisioner has: settings, database, vault, engine. Holds secrets."""
        layout = from_environ(self.environment, os.geteuid())
        given = credentials.ensure(self.state / "secrets.json")
        address = network.service_address(layout, self.environment)
        return product(layout, given, address).provisioner_environment()


@contextmanager
def running() -> Iterator[Installation]:
    """Started for the block, and then forgotten with all it holds."""
    state = Path(tempfile.mkdtemp(prefix="roost-bench-"))
    installation = Installation(state)
    try:
        installation.command("up")
        yield installation
    finally:
        installation.command("clean", "--yes")
        shutil.rmtree(state, ignore_errors=True)


def wait(check: Callable[[], bool], seconds: float, what: str, poll: float = POLL) -> None:
    """Until `check` holds, asked every `poll` seconds; an API that is coming back counts as no.
    Raises Stuck."""
    end = time.monotonic() + seconds
    while True:
        try:
            if check():
                return
        except (httpx.HTTPError, KeyError, ValueError):
            pass
        if time.monotonic() > end:
            raise Stuck(f"Waited {seconds:.0f} s for {what}.")
        time.sleep(poll)
