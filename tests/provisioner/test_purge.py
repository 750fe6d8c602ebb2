"""The end of the grace period, with parts of the node away."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane.agents import actions
from controlplane.agents.models import Agent
from provisioner.conditions import CURRENT, ENGINE
from provisioner.reconcile import reconcile

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def deleted(running, go, as_alice):
    actions.delete_agent(as_alice, running)
    agent = go(running)
    assert agent.status == "deleted"
    Agent.objects.filter(pk=agent.pk).update(purge_at=now(), due_at=now())
    return agent


def test_a_vault_that_is_away_is_told_and_the_purge_goes_on_when_it_is_back(
    deleted, go, backend, vault
):
    vault.sealed = True
    agent = go(deleted)
    assert (agent.status, agent.reason) == ("deleted", "vault_unavailable")
    assert agent.due_at is not None  # the sweep comes again

    vault.sealed = False
    assert reconcile(agent.pk, backend)

    assert not Agent.objects.filter(pk=deleted.pk).exists()
    assert vault.values == {}


def test_since_when_it_is_deleted_outlives_trouble_of_the_node(deleted, go, backend, engine):
    """What is held against the last use of its workspace: that it was used since proves that its
    row is older."""
    long_ago = now() - timedelta(days=1)
    Agent.objects.update(status_since=long_ago)
    backend.workspaces.used_last[deleted.pk] = now()
    engine.silent = True
    agent = go(deleted)
    assert (agent.status, agent.reason) == ("deleted", "engine_silent")

    engine.silent = False
    agent = go(agent)

    assert agent.conditions.get(type=CURRENT).reason == "row_says_deleted"
    assert (agent.status_since, backend.workspaces.known()) == (long_ago, [agent.pk])
    assert go(agent).reason == ""
    assert agent.conditions.get(type=ENGINE).status is True
