"""The engine as `up` starts it, on a machine of its own: private processes, network and /run.

A second dockerd beside the machine's own would take its bridge away; in these namespaces it is
the only one, and all of it is gone when they end.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.engine

ALONE = ("unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "/bin/sh", "-euc")
FRESH = """
mount -t tmpfs private /run
mount -t tmpfs private /var/lib/docker
ip link set lo up
roost() { "$PYTHON" -m deploy.local "$@"; }
daemons() { ps -e -o comm= | grep -cx dockerd || true; }
"""


def test_a_dead_daemon_s_leftovers_do_not_keep_a_new_one_from_starting(tmp_path: Path) -> None:
    leave = """
    mkdir -p /run/docker/containerd "$ROOST_STATE_DIR/run"
    touch "$ROOST_STATE_DIR/.roost-state"
    for file in /run/docker.pid /run/docker/containerd/containerd.pid \
                "$ROOST_STATE_DIR/run/dockerd.pid"; do echo 1 > "$file"; done
    "$PYTHON" -c 'import socket; socket.socket(socket.AF_UNIX).bind("/run/docker.sock")'
    """
    told = _alone(leave + "roost engine; roost engine; roost clean --yes; daemons", tmp_path)
    assert "started\n" in told
    assert "found\n" in told
    assert told.endswith("\n0\n")


def test_a_killed_daemon_is_started_again(tmp_path: Path) -> None:
    kill = "roost engine; kill -9 $(pgrep -x dockerd); sleep 0.2; daemons; roost engine; daemons"
    told = _alone(kill, tmp_path)
    assert told.count("started\n") == 2
    assert told.endswith("\n1\n")


def test_a_daemon_of_someone_else_is_left_running(tmp_path: Path) -> None:
    other = """
    dockerd > /dev/null 2>&1 &
    until docker version > /dev/null 2>&1; do sleep 0.1; done
    roost engine; roost down; daemons
    """
    told = _alone(other, tmp_path)
    assert "found\n" in told
    assert told.endswith("\n1\n")


def test_a_daemon_that_does_not_answer_is_not_joined_by_a_second_one(tmp_path: Path) -> None:
    deaf = """
    dockerd --host unix:///run/elsewhere.sock > /dev/null 2>&1 &
    until docker -H unix:///run/elsewhere.sock version > /dev/null 2>&1; do sleep 0.1; done
    roost engine || echo refused; daemons
    """
    told = _alone(deaf, tmp_path)
    assert told.endswith("refused\n1\n")


def _alone(script: str, tmp_path: Path) -> str:
    environ = {name: value for name, value in os.environ.items() if name != "DOCKER_HOST"}
    done = subprocess.run(
        [*ALONE, FRESH + script],
        env={**environ, "PYTHON": sys.executable, "ROOST_STATE_DIR": str(tmp_path / "var")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
