"""The commands that `up`, `down` and `clean` run in the foreground."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from deploy.local import packages
from deploy.local.errors import CheckFailed, CommandFailed
from deploy.local.layout import REPOSITORY
from deploy.local.programs import search_path
from deploy.local.stack import MANAGE

FRONTEND = REPOSITORY / "frontend"


def manage(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    *,
    show: bool = False,
    secret: bool = False,
    timeout: float | None = None,
) -> str:
    """Run `manage.py …`; returns what it printed. With `show` the lines appear as they come."""
    argv = [sys.executable, MANAGE, *arguments]
    return run(argv, environment, log, show=show, secret=secret, timeout=timeout)


def assets(log: Path, *, root: bool) -> bool:
    """Fetch the dashboard's third-party files where the lock is newer; True when it did."""
    lock, vendor = FRONTEND / "package-lock.json", FRONTEND / "static" / "vendor"
    stamp = vendor / ".stamp"
    if not lock.exists():
        return False
    if stamp.exists() and stamp.stat().st_mtime >= lock.stat().st_mtime:
        return False
    path = search_path(os.environ)
    if packages.missing(packages.NPM, path):
        if not packages.can_install(path, root):
            raise CheckFailed(
                "The dashboard's files need npm, which is not installed.",
                "Install Node.js with npm, then run the command again.",
            )
        packages.install(packages.NPM.values(), log.with_name("apt.log"))
    run(["npm", "ci", "--no-audit", "--no-fund"], {}, log, directory=FRONTEND)
    run(["npm", "run", "build"], {}, log, directory=FRONTEND)
    vendor.mkdir(parents=True, exist_ok=True)
    stamp.touch()
    return True


def run(
    argv: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    *,
    directory: Path = REPOSITORY,
    show: bool = False,
    secret: bool = False,
    timeout: float | None = None,
) -> str:
    """Standard output, which also goes to the log unless it is secret, as standard error does.

    A failure says the last line of the log.
    """
    inherited = {**os.environ, "PATH": search_path(os.environ), "PYTHONUNBUFFERED": "1"}
    printed: list[str] = []
    with log.open("a") as stream:
        began = stream.tell()
        process = subprocess.Popen(
            argv,
            cwd=directory,
            env={**inherited, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if timeout is None else stream,
            stderr=stream,
            text=True,
        )
        for line in process.stdout or ():
            printed.append(line)
            if not secret:
                stream.write(line)
                stream.flush()
            if show:
                print(f"  {line.rstrip()}", flush=True)
        code = _wait(process, timeout)
    if code:
        name = " ".join([Path(part).name if part.startswith("/") else part for part in argv])
        raise CommandFailed(
            f"`{name}` {_how(code)}{_said(log, began)}.", f"Its output is in {log}."
        )
    return "".join(printed)


def _wait(process: subprocess.Popen[str], timeout: float | None) -> int:
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return -9


def _how(code: int) -> str:
    return f"ended with code {code}" if code > 0 else "was killed or took too long"


def _said(log: Path, began: int) -> str:
    lines = log.read_bytes()[began:].decode(errors="replace").strip().splitlines()
    return f" ({lines[-1].strip()[:300]})" if lines else ""
