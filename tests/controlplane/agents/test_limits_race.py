"""Many at once for the last place: the database lets one have it."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from controlplane.agents.actions import create_agent
from controlplane.agents.errors import AgentLimitReached, AgentNameTaken, MemoryLimitReached
from controlplane.agents.models import Agent, Event, Release
from controlplane.audit.models import AuditEvent

pytestmark = pytest.mark.django_db(transaction=True)


def all_at_once(access, names):
    """What each creation led to: an agent or the refusal."""

    def create(name):
        try:
            return create_agent(access, name=name, runtime="hermes")
        except (AgentLimitReached, AgentNameTaken, MemoryLimitReached) as refusal:
            return refusal
        finally:
            connection.close()

    with ThreadPoolExecutor(50) as threads:
        return list(threads.map(create, names))


def made(outcomes):
    return [outcome for outcome in outcomes if isinstance(outcome, Agent)]


@pytest.mark.parametrize(
    ("limit", "refusal"),
    [({"agent_limit": 3}, AgentLimitReached), ({"memory_mb_limit": 1700}, MemoryLimitReached)],
)
def test_fifty_for_one_free_place_give_one(as_alice, acme, roomy, limit, refusal):
    for at in range(2):
        create_agent(as_alice, name=f"old-{at}", runtime="hermes")
    type(acme).objects.update(**limit)

    outcomes = all_at_once(as_alice, [f"new-{at}" for at in range(50)])

    assert len(made(outcomes)) == 1
    assert sum(isinstance(outcome, refusal) for outcome in outcomes) == 49
    assert Agent.objects.count() == Release.objects.count() == Event.objects.count() == 3
    assert AuditEvent.objects.filter(action="agent.created").count() == 3


def test_fifty_of_one_name_give_one(as_alice, roomy):
    outcomes = all_at_once(as_alice, ["scout"] * 50)

    assert len(made(outcomes)) == 1
    assert Agent.objects.count() == Release.objects.count() == 1
