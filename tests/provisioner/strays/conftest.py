from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane import ids
from controlplane.agents.models import Agent, Release
from controlplane.audit.actor import Actor
from provisioner.models import Address, Block, Stray
from provisioner.strays import recording

OSCAR = Actor("operator", "1", "operator Oscar")


def forget(agent: Agent) -> None:
    """As a database does that was restored from a copy older than this agent."""
    Agent.objects.filter(pk=agent.pk).update(release=None)
    Address.objects.filter(agent=agent.pk).delete()
    Block.objects.filter(addresses=None).delete()
    Release.objects.filter(agent=agent.pk).delete()
    Agent.objects.filter(pk=agent.pk).delete()


@pytest.fixture
def memory_folder(settings, tmp_path):
    settings.ROOST_STATE_DIR = tmp_path
    return tmp_path


@pytest.fixture
def lost(running, backend, vault) -> str:
    """An agent that runs and has no row any more; its id."""
    forget(running)
    return running.pk


@pytest.fixture
def look(backend):
    return lambda: recording.note(backend)


@pytest.fixture
def aged():
    """All strays were first seen long ago."""

    def age(days: int = 8) -> None:
        Stray.objects.update(first_seen_at=now() - timedelta(days=days))

    return age


@pytest.fixture
def unheard(acme, go, agent) -> str:
    """The same of an agent that the audit log has never heard of either; its id."""
    release = agent.release
    other = Agent.objects.create(
        organisation=acme, name="unheard", runtime="hermes", node=agent.node, goal="running"
    )
    release.pk, release.agent = ids.release_id(), other
    release.save(force_insert=True)
    Agent.objects.filter(pk=other.pk).update(release=release)
    assert go(other).status == "running"
    forget(other)
    return other.pk
