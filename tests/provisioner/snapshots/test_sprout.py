"""A fork's workspace begins as a snapshot of its own organisation, or it does not begin."""

import pytest

from controlplane.agents.actions import create_agent
from controlplane.agents.models import Agent
from controlplane.snapshots.actions import take_snapshot
from controlplane.snapshots.forking import fork

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def taken(as_alice, running, clones, fill, carry_out):
    snapshot = take_snapshot(as_alice, running)
    fill(snapshot.pk)
    return carry_out(snapshot)


def test_it_begins_as_the_snapshot(as_alice, taken, go, backend):
    twin = go(fork(as_alice, taken, name="twin"))

    assert twin.status == "running"
    assert twin.workspace_made_at is not None
    assert twin.pk in backend.workspaces.disks


def test_without_the_copy_it_waits_and_is_never_blank(as_alice, taken, go, clones, backend):
    twin = fork(as_alice, taken, name="twin")
    clones.drop(taken.agent_id, taken.pk)

    twin = go(twin)

    assert (twin.status, twin.workspace_made_at) == ("waiting", None)
    assert twin.pk not in backend.workspaces.disks


def test_another_organisations_snapshot_is_never_used(as_alice, taken, go, backend, umbrella):
    """T2, in the worker again."""
    twin = create_agent(as_alice, name="twin", runtime="hermes", origin=taken.pk)
    Agent.objects.filter(pk=taken.agent_id).update(organisation=umbrella)

    assert go(twin).status == "waiting"
    assert twin.pk not in backend.workspaces.disks
