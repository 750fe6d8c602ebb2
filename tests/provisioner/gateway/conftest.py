from collections.abc import Iterator

import pytest

from controlplane.agents.models import Agent
from controlplane.tenants.access import Access
from provisioner.backend import Backend, _backend, get_backend
from provisioner.gateway.web import places
from tests.provisioner.gateway.agents import ADDRESS
from tests.provisioner.gateway.web_rig import Rig


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


@pytest.fixture
def rig(as_alice: Access, talking: Agent, monkeypatch: pytest.MonkeyPatch) -> Rig:
    """Alice's agent, with a web UI that does what a test wants."""
    found = Rig(as_alice, talking)
    monkeypatch.setattr(places, "load_web", lambda runtime: found.ui)
    return found
