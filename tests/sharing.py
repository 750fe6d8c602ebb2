"""How `make test` shares the tests between two processes: one has all that meet the engine, since
they share its names and addresses; the other the rest, which share ports of loopback."""

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

ENGINE = ("tests/engine/", "tests/stack/")


class TwoShares(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return "engine" if nodeid.startswith(ENGINE) else "rest"


@pytest.hookimpl
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> TwoShares:
    return TwoShares(config, log)
