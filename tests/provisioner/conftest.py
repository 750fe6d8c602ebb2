from collections.abc import Callable

import pytest

from controlplane.agents.actions import create_agent
from controlplane.agents.models import Agent
from provisioner import memory, names
from provisioner.backend import Backend, fake_backend
from provisioner.engines.fake import FakeEngine
from provisioner.models import Node
from provisioner.reconcile import load, reconcile


@pytest.fixture
def backend(vault) -> Backend:
    return fake_backend()


@pytest.fixture
def engine(backend: Backend) -> FakeEngine:
    assert isinstance(backend.engine, FakeEngine)
    return backend.engine


@pytest.fixture
def agent(as_alice) -> Agent:
    return create_agent(as_alice, name="scout", runtime="hermes")


@pytest.fixture
def go(backend: Backend) -> Callable[[Agent], Agent]:
    """One pass, and the agent as it is afterwards."""

    def one_pass(agent: Agent) -> Agent:
        assert reconcile(agent.pk, backend)
        return load(agent.pk)

    return one_pass


@pytest.fixture
def running(agent: Agent, go) -> Agent:
    agent = go(agent)
    assert agent.status == "running"
    return agent


@pytest.fixture
def container(agent: Agent) -> str:
    return names.container(agent.pk)


@pytest.fixture
def restored(settings, tmp_path):
    """The node has noticed that its database went back."""
    settings.ROOST_STATE_DIR = tmp_path
    memory.compare()
    memory.compare()
    Node.objects.update(serial=1)
    assert memory.compare()
    return Node.objects.get()
