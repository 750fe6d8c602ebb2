"""Looking at containers and killing them, by the engine's own program: no part of ours helps."""

import os
import signal
import subprocess
import time
from pathlib import Path


class NoProcess(Exception):
    """The container has no main process at the moment."""


def docker(*words: str) -> str:
    """Raises subprocess.CalledProcessError."""
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True).stdout


def labelled(label: str, value: str) -> list[str]:
    """The names of all with that label, in any state."""
    chosen = f"label={label}={value}"
    return docker("ps", "-a", "--filter", chosen, "--format", "{{.Names}}").split()


def kill_main_process(container: str) -> None:
    """SIGKILL to what the engine's init runs; returns when it is gone. Raises NoProcess."""
    init = docker("inspect", "-f", "{{.State.Pid}}", container).strip()
    try:
        main = int(Path(f"/proc/{init}/task/{init}/children").read_text().split()[0])
        os.kill(main, signal.SIGKILL)
    except (OSError, IndexError) as error:
        raise NoProcess(container) from error
    while _alive(main):
        time.sleep(0.001)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in {"Z", "X"}
