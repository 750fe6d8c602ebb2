"""What the tests know of a whole installation, and how they meet it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]
MODULE = [sys.executable, "-m", "deploy.local"]


@dataclass
class Stack:
    state: Path
    environment: dict[str, str]

    def command(self, *words: str) -> str:
        done = subprocess.run(
            [*MODULE, *words],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    @property
    def facts(self) -> dict[str, str]:
        facts: dict[str, str] = json.loads((self.state / "local.json").read_text())
        return facts

    def pid(self, program: str) -> int:
        """Of one program, from the supervisor's own list."""
        config = str(self.state / "supervisord.conf")
        argv = [sys.executable, "-m", "supervisor.supervisorctl", "-c", config, "pid", program]
        return int(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)

    def kill(self, *programs: str) -> None:
        for pid in [self.pid(program) for program in programs]:
            os.kill(pid, signal.SIGKILL)

    def control(self, verb: str, *programs: str) -> None:
        config = str(self.state / "supervisord.conf")
        argv = [sys.executable, "-m", "supervisor.supervisorctl", "-c", config, verb, *programs]
        subprocess.run(argv, capture_output=True, check=True)

    def api(self, method: str, path: str, **options: Any) -> httpx.Response:
        facts = self.facts
        return httpx.request(
            method,
            f"{facts['url']}/api/v1/orgs/{facts['org']}{path}",
            headers={"Authorization": f"Bearer {facts['token']}"},
            timeout=120,
            trust_env=False,
            **options,
        )

    def agent(self, agent_id: str | None = None) -> dict[str, Any]:
        found: dict[str, Any] = self.api("GET", f"/agents/{agent_id or self.facts['agent']}").json()
        return found

    def say(self, text: str, agent_id: str | None = None) -> str:
        """Tried again while a part is still coming back, as the answer's own words advise."""
        path = f"/agents/{agent_id or self.facts['agent']}/messages"
        for _ in range(120):
            answer = self.api("POST", path, json={"text": text})
            if answer.status_code not in {409, 502, 503}:
                break
            time.sleep(0.5)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["text"])

    def wait(
        self, check: Callable[[], bool], seconds: float = 90, agent_id: str | None = None
    ) -> None:
        """Where it does not come about, the story of that agent is told."""
        end = time.monotonic() + seconds
        while True:
            try:
                if check():
                    return
            except (httpx.HTTPError, KeyError, ValueError):
                pass  # the web process is coming back
            assert time.monotonic() < end, self.story(agent_id)
            time.sleep(0.2)

    def wait_running(self, agent_id: str | None = None) -> None:
        self.wait(lambda: self.agent(agent_id)["status"] == "running", agent_id=agent_id)

    def finished(self, path: str, seconds: float = 180) -> dict[str, Any]:
        """A job, once it has ended."""
        self.wait(lambda: self.api("GET", path).json()["status"] in {"done", "failed"}, seconds)
        found: dict[str, Any] = self.api("GET", path).json()
        return found

    def story(self, agent_id: str | None = None) -> str:
        """What is known of an agent, the engine and our processes, for a failed test."""
        try:
            events = self.api("GET", self.events(agent_id)).json()
            told = f"{self.agent(agent_id)}\n{events}"
        except httpx.HTTPError as error:
            told = f"the API does not answer: {error}"
        engine = subprocess.run(["docker", "ps", "-a"], capture_output=True, text=True, check=False)
        return f"{told}\n{engine.stdout}{engine.stderr}\n{self.logs()}"

    def events(self, agent_id: str | None = None) -> str:
        return f"/agents/{agent_id or self.facts['agent']}/events?limit=8"

    def logs(self) -> str:
        return "\n".join(
            f"--- {path.name}\n{path.read_text(errors='replace')[-1500:]}"
            for path in sorted((self.state / "log").glob("*.log"))
            if path.stem in {"web", "worker", "node", "gateway"}
        )
