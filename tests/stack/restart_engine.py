"""Ends dockerd as a service manager would and starts it again with the same words and
environment.

For machines without a service manager, which does this where there is one.
"""

import os
import signal
import subprocess
import time
from pathlib import Path

PATIENCE = 90  # seconds for each half


def dockerd() -> int | None:
    """The machine's own; another may run in namespaces of its own."""
    for entry in Path("/proc").glob("[0-9]*/comm"):
        try:
            if entry.read_text().strip() == "dockerd" and _is_here(entry.parent):
                return int(entry.parent.name)
        except OSError:
            continue  # it ended meanwhile
    return None


def _is_here(process: Path) -> bool:
    return (process / "ns/mnt").readlink() == Path("/proc/self/ns/mnt").readlink()


def until(check) -> None:
    end = time.monotonic() + PATIENCE
    while not check():
        if time.monotonic() > end:
            raise SystemExit("The engine did not do it in time.")
        time.sleep(0.1)


def answers() -> bool:
    return subprocess.run(["docker", "version"], capture_output=True, check=False).returncode == 0


def main() -> None:
    pid = dockerd()
    if pid is None:
        raise SystemExit("No dockerd runs here.")
    argv = Path(f"/proc/{pid}/cmdline").read_bytes().decode().rstrip("\0").split("\0")
    environment = dict(
        line.split("=", 1)
        for line in Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
        if "=" in line
    )
    said = Path(f"/proc/{pid}/fd/2").resolve()
    log = said if said.is_file() else Path(os.devnull)
    os.kill(pid, signal.SIGTERM)
    until(lambda: dockerd() is None)
    with log.open("ab") as out:
        subprocess.Popen(
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    until(answers)


if __name__ == "__main__":
    main()
