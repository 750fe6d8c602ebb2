"""The end of the grace period, with parts of the node away."""

import pytest
from django.utils.timezone import now

from controlplane.agents import actions
from controlplane.agents.models import Agent
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
    assert agent.reason == "vault_unavailable"
    assert agent.due_at is not None  # the sweep comes again

    vault.sealed = False
    for _ in range(2):  # back to deleted, then gone
        assert reconcile(agent.pk, backend)

    assert not Agent.objects.filter(pk=deleted.pk).exists()
    assert vault.values == {}
