"""Many at once for the last place: the database lets one have it."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from controlplane.agents import keyring
from controlplane.agents.actions import create_agent
from controlplane.agents.errors import (
    AgentLimitReached,
    AgentNameTaken,
    MemoryLimitReached,
    UnknownKey,
)
from controlplane.agents.models import Agent, Event, Release
from controlplane.audit.models import AuditEvent
from controlplane.keys.actions import add_key
from controlplane.tenants.models import Organisation

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


def until_somebody_waits_for_a_lock():
    with connection.cursor() as cursor:
        for _ in range(1000):
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0]:
                return
            time.sleep(0.01)
    raise AssertionError("nobody waits")


def test_a_key_that_is_revoked_meanwhile_is_not_given_to_a_new_agent(as_alice, acme):
    key = add_key(as_alice, name="main", provider="anthropic", value="sk-ant-0123456789abcdef")

    def create():
        try:
            return create_agent(as_alice, name="scout", runtime="hermes", key=key.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            Organisation.objects.select_for_update(no_key=True).get(pk=acme.pk)
            making = threads.submit(create)
            until_somebody_waits_for_a_lock()
            keyring.revoke(as_alice, key)
        with pytest.raises(UnknownKey):
            making.result()

    assert not Agent.objects.exists()
