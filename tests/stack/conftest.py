"""A second whole installation beside any other: `make up`'s own program, other ports and names."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioner import names
from provisioner.engines.docker import DockerEngine
from tests.stack.fleet import Fleet
from tests.stack.stack import ROOT, Stack

PORT = "8760"
INSTALLATION = "stack"
PATIENCE_S = 1200  # for one test: the first starts the installation, and eight boots take turns
RESTART_ENGINE = f"{sys.executable} {ROOT / 'tests/stack/restart_engine.py'}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.stack)
            item.add_marker(pytest.mark.timeout(PATIENCE_S))


def remove_leftovers() -> None:
    """What an earlier run that was cut off left in the engine: its state directory is gone."""
    engine, mine = DockerEngine(), names.mine(INSTALLATION)
    for container in engine.containers(mine):
        engine.ensure_removed(container.name)
    for network in engine.networks(mine):
        engine.ensure_network_removed(network)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    state = Path(tmp_path_factory.mktemp("stack"))
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ROOST_")},
        "ROOST_STATE_DIR": str(state),
        "ROOST_PORT": PORT,
        "ROOST_INSTALLATION": INSTALLATION,
        "ROOST_NETWORK_POOL": "10.215.0.0/16",
        "ROOST_DRILL_ENGINE_COMMAND": RESTART_ENGINE,
    }
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    environment.pop("DATABASE_URL", None)
    remove_leftovers()
    installation = Stack(state, environment)
    try:
        installation.command("up")
        yield installation
    finally:
        installation.command("clean", "--yes")


@pytest.fixture(scope="session")
def fleet(stack: Stack) -> Fleet:
    return Fleet(stack)
