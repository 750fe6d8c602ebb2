import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from deploy.local import files
from deploy.local.layout import Installation, socket_dir
from deploy.local.services import free_port

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    """An installation beside any other on this machine, nothing started."""
    state_dir = tmp_path / "state"
    run_dir = socket_dir(state_dir, {"XDG_RUNTIME_DIR": str(tmp_path)}, os.geteuid())
    pool = IPv4Network("10.99.0.0/16")
    made = Installation(state_dir, run_dir, "test", port=free_port() - 3, pool=pool)
    files.prepare(made)
    return made


@pytest.fixture
def roost(tmp_path: Path) -> Iterator[Run]:
    """`python -m deploy.local …` with a state directory of its own; ended at the end."""
    own = {"ROOST_STATE_DIR": str(tmp_path / "var"), "ROOST_PORT": str(free_port() - 3)}

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "deploy.local", *arguments],
            env={**os.environ, **own, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    yield run
    ended = run("clean", "--yes")
    assert ended.returncode == 0, ended.stderr
