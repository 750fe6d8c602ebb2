"""Agents of every runtime on the second installation, all asked for at once."""

import hashlib
import json
import os
import signal
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from runtimes.catalog import CATALOG, Runtime
from tests.stack.stack import Stack

# Two of each: more than boot at once, so most of them have to wait for their turn.
TWINS = ("a", "b")
ALL_BOOT_S, ONE_BOOTS_S = 900, 240  # on a busy machine


@dataclass(frozen=True)
class Hosted:
    """One agent of the fleet."""

    stack: Stack
    runtime: Runtime
    id: str

    @property
    def container(self) -> str:
        return f"roost-{self.id}"

    @property
    def workspace(self) -> Path:
        """Its /workspace, as the node has it."""
        return self.stack.state / "workspaces" / self.id / "data"

    @cached_property
    def path(self) -> str:
        return f"/agents/{self.id}"

    def shown(self) -> dict[str, Any]:
        return self.stack.agent(self.id)

    def say(self, text: str) -> str:
        return self.stack.say(text, self.id)

    def change(self, **settings: Any) -> None:
        answer = self.stack.api("PATCH", self.path, json=settings)
        assert answer.status_code == 200, answer.text
        self.wait_running()

    def verb(self, name: str) -> None:
        answer = self.stack.api("POST", f"{self.path}/{name}", json={})
        assert answer.status_code == 202, answer.text

    def wait_running(self, seconds: float = ONE_BOOTS_S) -> None:
        self.wait(lambda shown: shown["status"] == "running" and shown["settled"], seconds)

    def wait(self, check: Any, seconds: float = ONE_BOOTS_S) -> None:
        self.stack.wait(lambda: check(self.shown()), seconds, self.id)

    def inspect(self) -> dict[str, Any]:
        told = docker("inspect", self.container)
        found: dict[str, Any] = json.loads(told)[0]
        return found

    def run(self, *argv: str) -> str:
        """A program inside, as the agent's own user."""
        return docker("exec", self.container, *argv)

    def main_process(self) -> int:
        """The one under the engine's init."""
        init = self.inspect()["State"]["Pid"]
        children = Path(f"/proc/{init}/task/{init}/children").read_text().split()
        return int(children[0])

    def kill_main(self) -> None:
        os.kill(self.main_process(), signal.SIGKILL)

    def manifest(self, folder: str) -> dict[str, str]:
        root = self.workspace / folder
        return {
            str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(root.rglob("*"))
            if path.is_file()
        }


def docker(*words: str) -> str:
    done = subprocess.run(["docker", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def create(stack: Stack, runtime: str, name: str, **settings: Any) -> Hosted:
    body = {"name": name, "runtime": runtime, "disk_gib": 1, "egress": "none", **settings}
    answer = stack.api("POST", "/agents", json=body)
    assert answer.status_code == 202, answer.text
    return Hosted(stack, CATALOG[runtime], answer.json()["id"])


class Fleet:
    """One agent of each runtime, made when it is first asked for and kept for the whole run."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._agents: dict[str, Hosted] = {}

    def __getitem__(self, slug: str) -> Hosted:
        if slug not in self._agents:
            self._agents[slug] = create(self._stack, slug, f"{slug}-a")
            self._agents[slug].wait_running()
        return self._agents[slug]

    def create_all_twice(self) -> list[Hosted]:
        """All at once; the first of each is kept."""
        made = [create(self._stack, slug, f"{slug}-{twin}") for twin in TWINS for slug in CATALOG]
        self._agents = {agent.runtime.slug: agent for agent in made[: len(CATALOG)]}
        return made
