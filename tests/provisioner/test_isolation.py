"""Isolations that a node offers: told by its row, and refused before anything is taken down."""

import pytest
from django.utils.timezone import now

from controlplane.agents.actions import create_agent, update_agent
from provisioner import names, rounds
from provisioner.engines.base import IsolationMissing
from provisioner.models import Node

pytestmark = pytest.mark.django_db


def test_the_nodes_row_tells_what_it_offers(backend, engine, settings):
    Node.objects.create(name=settings.ROOST_NODE, heartbeat_at=now())
    engine.offered = ("default", "gvisor")

    rounds.note_offers(backend)
    rounds.beat(backend)

    assert Node.objects.get().isolations == ["default", "gvisor"]


def test_an_agent_in_gvisor_is_made_where_there_is_gvisor(as_alice, engine, go):
    engine.offered = ("default", "gvisor")
    agent = go(create_agent(as_alice, name="scout", runtime="hermes", isolation="gvisor"))

    assert agent.status == "running"
    assert engine.specs[names.container(agent.pk)].isolation == "gvisor"


def test_elsewhere_it_is_told_what_to_do(as_alice, engine, go):
    agent = go(create_agent(as_alice, name="scout", runtime="hermes", isolation="gvisor"))

    assert agent.reason == "isolation_missing"
    assert "Choose the default isolation" in agent.message
    assert engine.kept == {}


def test_a_change_to_it_takes_nothing_down_that_runs(as_alice, backend, engine, running, go):
    before = engine.inspect(names.container(running.pk))
    update_agent(as_alice, running, isolation="gvisor")

    for _ in range(8):
        agent = go(running)

    assert (agent.status, agent.reason) == ("waiting", "isolation_missing")
    assert engine.inspect(names.container(running.pk)) == before


def test_the_engine_itself_refuses_it_too(engine, running):
    spec = engine.specs[names.container(running.pk)]
    engine.ensure_removed(spec.name)

    with pytest.raises(IsolationMissing, match="no gVisor"):
        engine.ensure_created(type(spec)(**{**vars(spec), "isolation": "gvisor"}))
