from collections.abc import Iterator

import pytest

from controlplane.agents.models import Agent
from provisioner.backend import Backend, _backend, get_backend
from tests.provisioner.gateway.agents import ADDRESS


@pytest.fixture
def backend(vault) -> Iterator[Backend]:
    """The one the gateway uses."""
    _backend.cache_clear()
    yield get_backend()
    _backend.cache_clear()


@pytest.fixture
def talking(running: Agent) -> Agent:
    """A running agent whose address a test can listen on."""
    Agent.objects.filter(pk=running.pk).update(address=ADDRESS)
    running.refresh_from_db()
    return running
