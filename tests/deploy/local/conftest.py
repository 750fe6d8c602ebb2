import os
from collections.abc import Iterator
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from deploy.local import files
from deploy.local.layout import Installation, socket_dir
from deploy.local.services import free_port
from tests import sharing


@pytest.fixture(scope="module", autouse=True)
def engine_stays() -> Iterator[None]:
    """An `up` of these tests would start it where it is down."""
    with sharing.engine():
        yield


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    """An installation beside any other on this machine, nothing started."""
    state_dir = tmp_path / "state"
    run_dir = socket_dir(state_dir, {"XDG_RUNTIME_DIR": str(tmp_path)}, os.geteuid())
    pool = IPv4Network("10.99.0.0/16")
    made = Installation(state_dir, run_dir, "test", port=free_port() - 3, pool=pool)
    files.prepare(made)
    return made
