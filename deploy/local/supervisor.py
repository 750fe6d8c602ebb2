"""The one supervisor: started, told what to run, asked how it goes, ended."""

import contextlib
import os
import subprocess
import sys
import time
import xmlrpc.client
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

from supervisor.xmlrpc import SupervisorTransport

from deploy.local import processes
from deploy.local.errors import ProgramFailed
from deploy.local.layout import Installation
from deploy.local.processes import Process

START_S = 20
Unreachable = (OSError, HTTPException)
RUNNING = frozenset({"STARTING", "RUNNING", "BACKOFF"})


@dataclass(frozen=True)
class State:
    """`name` as supervisord calls it: STOPPED STARTING RUNNING BACKOFF STOPPING EXITED FATAL."""

    name: str
    pid: int
    description: str


class Supervisor:
    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._socket = installation.run_dir / "supervisor.sock"
        self.config = installation.state_dir / "supervisord.conf"

    def process(self) -> Process | None:
        """The living supervisord of this installation."""
        try:
            pid = int((self._installation.run_dir / "supervisord.pid").read_text())
        except (OSError, ValueError):
            return None
        ours = processes.is_marked(pid, self._installation.state_dir)
        return processes.find(pid) if ours else None

    def ensure(self, environment: Mapping[str, str]) -> bool:
        """Run with the configuration as it is on disk; True when it had to be started.

        Programs whose section changed are stopped: they start anew with the new one.
        """
        if self.process():
            self._reload()
            return False
        # Children of a supervisor that was killed: nobody watches them, so they start afresh.
        processes.end(processes.marked(self._installation.state_dir), grace=15)
        self._socket.unlink(missing_ok=True)
        subprocess.run(
            [sys.executable, "-m", "supervisor.supervisord", "-c", str(self.config)],
            env={**environment, processes.MARK: str(self._installation.state_dir)},
            stdin=subprocess.DEVNULL,
            check=False,
        )
        self._wait_answer()
        return True

    def states(self) -> dict[str, State]:
        """Empty when no supervisor answers."""
        try:
            infos = self._call("getAllProcessInfo")
        except (*Unreachable, xmlrpc.client.Error):
            return {}
        return {
            str(info["name"]): State(info["statename"], int(info["pid"]), info["description"])
            for info in infos
        }

    def start(self, name: str) -> None:
        """Start unless it runs; a program that gave up gets new tries."""
        with contextlib.suppress(xmlrpc.client.Fault):
            self._call("startProcess", name, False)

    def stop(self, names: list[str]) -> None:
        """Stop those at the same time; returns when all have stopped."""
        for name in names:
            with contextlib.suppress(xmlrpc.client.Fault, *Unreachable):
                self._call("stopProcess", name, False)
        while any(
            state.name in RUNNING | {"STOPPING"}
            for name, state in self.states().items()
            if name in names
        ):
            time.sleep(0.05)

    def shutdown(self) -> None:
        """End supervisord and, should it be dead, whatever it left behind."""
        process = self.process()
        with contextlib.suppress(xmlrpc.client.Error, *Unreachable):
            self._call("shutdown")
        if process:
            processes.wait_gone([process], 30)
        processes.end(processes.marked(self._installation.state_dir), grace=15)
        self._socket.unlink(missing_ok=True)

    def _reload(self) -> None:
        added, changed, removed = self._call("reloadConfig")[0]
        for name in [*changed, *removed]:
            self._call("stopProcessGroup", name)
            self._call("removeProcessGroup", name)
        for name in [*added, *changed]:
            self._call("addProcessGroup", name)

    def _wait_answer(self) -> None:
        deadline = time.monotonic() + START_S
        while True:
            try:
                self._call("getState")
                return
            except (*Unreachable, xmlrpc.client.Error) as error:
                if time.monotonic() > deadline:
                    raise ProgramFailed(
                        "supervisord did not start.", f"Read {self._log} for the reason."
                    ) from error
            time.sleep(0.05)

    @property
    def _log(self) -> Path:
        return self._installation.log_dir / "supervisord.log"

    def _call(self, verb: str, *arguments: object) -> Any:
        transport = SupervisorTransport(None, None, serverurl=f"unix://{self._socket}")
        with xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport) as server:
            return getattr(server.supervisor, verb)(*arguments)


def last_line(log: Path) -> str:
    """The last line a program wrote, for a sentence about its end."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - 4096))
            lines = stream.read().decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1].strip()[:300] if lines else ""
