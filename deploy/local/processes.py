"""Which processes are ours, and how they are ended: never by name, never by a bare pid.

Every program of the stack carries `ROOST_LOCAL=<state directory>` in its environment, which no
other process has; a pid together with its start time names one process for ever.
"""

import os
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

MARK = "ROOST_LOCAL"


@dataclass(frozen=True)
class Process:
    """`started` is in clock ticks since boot, as in /proc/<pid>/stat."""

    pid: int
    started: int


def find(pid: int) -> Process | None:
    """The living process of that pid; a zombie counts as gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name is in brackets and may hold anything, brackets included.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else Process(pid, int(fields[19]))


def alive(process: Process) -> bool:
    return find(process.pid) == process


def name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def everyone() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def is_marked(pid: int, state_dir: Path) -> bool:
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return f"{MARK}={state_dir}".encode() in environ.split(b"\0")


def marked(state_dir: Path) -> list[Process]:
    """Every living process of the installation in `state_dir`, this one and its parents apart."""
    found = (find(pid) for pid in everyone() if is_marked(pid, state_dir))
    return [process for process in found if process and process.pid != os.getpid()]


def send(process: Process, number: signal.Signals) -> None:
    """Signal exactly that process; one that is gone is left in peace."""
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        return
    try:
        # The handle pins the process, so a start time read now cannot be another's later.
        if alive(process):
            signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return
    finally:
        os.close(handle)


def wait_gone(processes: Iterable[Process], seconds: float) -> list[Process]:
    """Those still alive after `seconds`."""
    deadline = time.monotonic() + seconds
    left = [process for process in processes if alive(process)]
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left = [process for process in left if alive(process)]
    return left


def end(processes: list[Process], grace: float) -> None:
    """Ask politely, wait, then kill what is left."""
    for process in processes:
        # SIGTERM makes PostgreSQL wait for its clients for ever; SIGINT is its fast stop.
        polite = signal.SIGINT if name(process.pid) == "postgres" else signal.SIGTERM
        send(process, polite)
    for process in wait_gone(processes, grace):
        send(process, signal.SIGKILL)
    wait_gone(processes, 5)
