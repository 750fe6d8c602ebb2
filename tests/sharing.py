"""How `make test` shares the tests between two processes.

All that meets no engine is one piece, since its tests share ports of loopback. The whole
installation of tests/stack is another, and each file of tests/engine is one: every process has an
installation of its own on the engine, like two on one host. Only who restarts the engine itself
has it alone: see `engine`.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

ENGINE, STACK, REST = "tests/engine/", "tests/stack/", "the rest"
LOCKS = Path(tempfile.gettempdir())


class Pieces(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(ENGINE):
            return nodeid.partition("::")[0]
        return STACK if nodeid.startswith(STACK) else REST


@pytest.hookimpl
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Pieces:
    return Pieces(config, log)


def process() -> int:
    """Which of the processes this is, from 0."""
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


@contextmanager
def engine(*, alone: bool = False) -> Iterator[None]:
    """While the block runs the engine stays up; or it is nobody else's, and may go down."""
    with held("engine", shared=not alone):
        yield


@contextmanager
def held(what: str, *, shared: bool = False) -> Iterator[None]:
    """Something of the machine that there is once, for the processes that share the tests."""
    with (LOCKS / f"roost-tests-{what}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
