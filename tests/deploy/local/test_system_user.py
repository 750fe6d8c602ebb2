"""The account of PostgreSQL on a machine that has none yet, wanted by several at once."""

import multiprocessing
import pwd
import subprocess
from collections.abc import Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from deploy.local import postgres

NAME = "roost-test-account"
AT_ONCE = 6


@pytest.fixture
def no_account() -> Iterator[None]:
    subprocess.run(["userdel", NAME], check=False, capture_output=True)
    yield
    subprocess.run(["userdel", NAME], check=True, capture_output=True)


def _make(together: Barrier, _: int) -> int:
    postgres.SYSTEM_USER = NAME
    together.wait(timeout=30)
    return postgres.system_user().pw_uid


def test_several_at_once_get_the_same_one(no_account: None) -> None:
    spawn = multiprocessing.get_context("spawn")
    with spawn.Manager() as manager, spawn.Pool(AT_ONCE) as pool:
        together = manager.Barrier(AT_ONCE)
        found = pool.starmap(_make, [(together, n) for n in range(AT_ONCE)], chunksize=1)
    assert set(found) == {pwd.getpwnam(NAME).pw_uid}
    lines = Path("/etc/passwd").read_text().splitlines()
    assert sum(line.startswith(f"{NAME}:") for line in lines) == 1
