"""The Docker Engine: used where one answers, installed and started where that is allowed.

A second dockerd in one network namespace destroys the first one's bridge, so none is started
while any dockerd lives, whether it answers or not.
"""

import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from deploy.local import files, packages, processes
from deploy.local.errors import EngineMissing
from deploy.local.layout import Installation
from deploy.local.processes import Process
from deploy.local.programs import base_environment, search_path

DEFAULT_HOST = "unix:///var/run/docker.sock"
ANSWER_S = 5
FOUND_S = 10
START_S = 60
CONTAINERD_PID = Path("/var/run/docker/containerd/containerd.pid")


def problem(environ: Mapping[str, str], default: str = DEFAULT_HOST) -> str | None:
    """None when the engine answers; else why not, as a clause."""
    host = environ.get("DOCKER_HOST") or default
    scheme, _, rest = host.partition("://")
    if scheme not in {"unix", "tcp"}:
        return f"DOCKER_HOST is {host!r}; only unix:// and tcp:// work here"
    try:
        with closing(_connection(scheme, rest)) as connection:
            connection.request("GET", "/_ping", headers={"Host": "engine"})
            status = connection.getresponse().status
    except (OSError, HTTPException, ValueError) as error:
        return f"{host}: {getattr(error, 'strerror', None) or error or type(error).__name__}"
    return None if status == 200 else f"{host} answers {status}"


def _connection(scheme: str, rest: str) -> HTTPConnection:
    if scheme == "tcp":
        return HTTPConnection(rest.rstrip("/"), timeout=ANSWER_S)
    connection = HTTPConnection("engine")
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.sock = stream
    try:
        stream.settimeout(ANSWER_S)
        stream.connect(rest)
    except OSError:
        stream.close()
        raise
    return connection


def ensure(
    installation: Installation, environ: Mapping[str, str], default: str = DEFAULT_HOST
) -> str:
    """Make an engine answer; returns how ("found", "started", "installed and started")."""
    why = problem(environ, default)
    if why is None:
        return "found"
    if environ.get("DOCKER_HOST"):
        raise EngineMissing(
            f"The Docker Engine does not answer ({why}).",
            "Start it, or unset DOCKER_HOST to use this machine's own.",
        )
    if "ermission" in why:
        raise EngineMissing(
            "This user may not use the Docker Engine.",
            "Add the user to the group `docker` and log in again, or run as root.",
        )
    if not installation.root:
        raise EngineMissing(
            f"No Docker Engine answers ({why}).",
            "Start Docker, or run `make up` as root on Debian or Ubuntu to have it installed.",
        )
    return _bring_up(installation, environ, search_path(environ))


def _bring_up(installation: Installation, environ: Mapping[str, str], path: str) -> str:
    how = "installed and started" if install_missing(installation, path) else "started"
    if Path("/run/systemd/system").is_dir():
        subprocess.run(["systemctl", "start", "docker"], capture_output=True, check=False)
    elif _other_dockerd():
        # It may be on its way up.
        _wait(installation, environ, FOUND_S)
        return "found"
    else:
        _start(installation, environ)
    _wait(installation, environ, START_S)
    return how


def install_missing(installation: Installation, path: str) -> bool:
    """True when something had to be installed; `EngineMissing` where that cannot be done."""
    absent = packages.missing(packages.ENGINE, path)
    if absent and not packages.can_install(path, installation.root):
        raise EngineMissing(
            f"There is no Docker Engine ({', '.join(sorted(absent))} missing), and it installs"
            " by itself on Debian and Ubuntu only.",
            "Install Docker Engine and start it, then run the command again.",
        )
    if absent:
        packages.install(absent.values(), installation.log_dir / "apt.log")
    return bool(absent)


def _other_dockerd() -> bool:
    return any(processes.name(pid) == "dockerd" for pid in processes.everyone())


def _start(installation: Installation, environ: Mapping[str, str]) -> None:
    _mount_cgroups()
    pid_file = installation.run_dir / "dockerd.pid"
    # What a dead daemon left behind: a pid that by now may be anyone's stops a new one.
    pid_file.unlink(missing_ok=True)
    if _stale(CONTAINERD_PID, "containerd"):
        CONTAINERD_PID.unlink(missing_ok=True)
    with _log(installation).open("ab") as log:
        daemon = subprocess.Popen(
            ["dockerd", "--pidfile", str(pid_file)],
            env=base_environment(environ),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    if found := processes.find(daemon.pid):
        record: dict[str, object] = {"pid": found.pid, "started": found.started}
        files.write_json(_record(installation), record)


def _mount_cgroups() -> None:
    """Without systemd nobody may have mounted them, and no container starts then."""
    if Path("/sys/fs/cgroup").is_dir() and not any(Path("/sys/fs/cgroup").iterdir()):
        command = ["mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup"]
        subprocess.run(command, capture_output=True, check=False)


def _stale(pid_file: Path, name: str) -> bool:
    try:
        return processes.name(int(pid_file.read_text())) != name
    except (OSError, ValueError):
        return False


def _wait(installation: Installation, environ: Mapping[str, str], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while why := problem(environ):
        own = started_by_us(installation)
        died = _record(installation).exists() and own is None
        if died or time.monotonic() > deadline:
            raise EngineMissing(
                f"A Docker Engine runs or was started here, but does not answer ({why}).",
                f"Read {_log(installation)} or the system's log for the reason; if it listens"
                " elsewhere, say where with DOCKER_HOST.",
            )
        time.sleep(0.1)


def started_by_us(installation: Installation) -> Process | None:
    """The daemon this installation started, while it lives."""
    record = files.read_json(_record(installation))
    pid, started = record.get("pid"), record.get("started")
    if not isinstance(pid, int) or not isinstance(started, int):
        return None
    process = Process(pid, started)
    return process if processes.alive(process) and processes.name(pid) == "dockerd" else None


def stop(installation: Installation) -> bool:
    """End the daemon if it is ours; True when one was ended."""
    process = started_by_us(installation)
    if process:
        processes.end([process], grace=30)
    _record(installation).unlink(missing_ok=True)
    return process is not None


def running_containers(environ: Mapping[str, str]) -> int:
    """How many containers run in the engine, whoever's they are; 0 when it cannot be asked."""
    command = ["docker", "ps", "--quiet"]
    try:
        done = subprocess.run(
            command, env=base_environment(environ), capture_output=True, check=False, timeout=15
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return len(done.stdout.split())


def _record(installation: Installation) -> Path:
    return installation.run_dir / "dockerd.json"


def _log(installation: Installation) -> Path:
    return installation.log_dir / "dockerd.log"
