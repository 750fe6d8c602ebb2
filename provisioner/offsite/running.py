"""One run of restic: bounded by its progress, ended with its parent, its words kept apart.

No total limit fits a transfer whose size nobody knows, so a run is given up when it has moved
nothing and computed nothing for a while, or when it waits ever longer between its own retries.
"""

import contextlib
import re
import shutil
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from provisioner.offsite.errors import ToolMissing

POLL = 0.2  # seconds
MOVED = 64 * 1024  # bytes read and written: less than this is no progress
COMPUTED = 50  # clock ticks of a core
KEPT_LINES = 200  # of what it writes; the end is what counts
GRACE = 10  # seconds from a polite end to a kill
RETRYING = re.compile(r"returned error, retrying after ((?:\d+h)?(?:\d+m)?)([\d.]+)(m?s)\b")


@dataclass(frozen=True)
class Patience:
    """Seconds: without any progress, and between two retries that restic makes itself."""

    still: float = 180
    retry: float = 30


@dataclass(frozen=True)
class Ended:
    """`out` and `said` are the last lines of its standard output and standard error; `given_up`
    says why we ended it, where we did."""

    code: int
    out: str
    said: str
    given_up: str = ""


def restic() -> str:
    """Where it is. Raises ToolMissing."""
    found = shutil.which("restic")
    if found is None:
        raise ToolMissing
    return found


def run(
    arguments: Sequence[str], environment: Mapping[str, str], folder: Path, patience: Patience
) -> Ended:
    """Raises ToolMissing."""
    process = subprocess.Popen(
        # The parent's end is the child's: a run that nobody follows would hold the lock.
        ["setpriv", "--pdeathsig", "KILL", "--", restic(), *arguments],
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    out: deque[str] = deque(maxlen=KEPT_LINES)
    said: deque[str] = deque(maxlen=KEPT_LINES)
    readers = [
        threading.Thread(target=lines.extend, args=(stream,), daemon=True)
        for lines, stream in ((out, process.stdout), (said, process.stderr))
    ]
    try:
        for reader in readers:
            reader.start()
        given_up = _follow(process, said, patience)
    finally:
        _end(process)
        for reader in readers:
            reader.join(GRACE)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    return Ended(process.returncode, "".join(out), "".join(said), given_up)


def _follow(process: subprocess.Popen[str], said: deque[str], patience: Patience) -> str:
    """Until it ends; returns why it was given up, or nothing."""
    seen, since = _work(process.pid), time.monotonic()
    while process.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(POLL)
        now, moment = _work(process.pid), time.monotonic()
        if now[0] - seen[0] >= MOVED or now[1] - seen[1] >= COMPUTED:
            seen, since = now, moment
        if moment - since > patience.still:
            return f"nothing moved for {patience.still:.0f} s"
        if _longest_wait(said) > patience.retry:
            return "it fails again and again"
    return ""


def _work(pid: int) -> tuple[int, int]:
    """Bytes read and written, sockets included, and clock ticks computed."""
    try:
        counts = dict(
            line.split(": ", 1) for line in Path(f"/proc/{pid}/io").read_text().splitlines()
        )
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(counts["rchar"]) + int(counts["wchar"]), int(fields[11]) + int(fields[12])
    except (OSError, ValueError, KeyError, IndexError):
        return 0, 0  # it has just ended


def _longest_wait(said: deque[str]) -> float:
    """Seconds; restic waits longer each time that the same request fails."""
    longest = 0.0
    with contextlib.suppress(RuntimeError):  # it grew meanwhile: the next look sees it all
        for line in said:
            for longer, number, unit in RETRYING.findall(line):
                seconds = float(number) / (1000 if unit == "ms" else 1)
                longest = max(longest, seconds + (60 if longer else 0))
    return longest


def _end(process: subprocess.Popen[str]) -> None:
    """Politely first, so that it takes its lock away."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
