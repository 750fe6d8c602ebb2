"""Waking the provisioner: after the commit, by a task's name, and never at the caller's cost."""

import logging
import time

import pytest
from celery import current_app
from django.db import transaction
from django.utils.timezone import now

from controlplane.agents.actions import create_agent, stop_agent
from controlplane.agents.models import Agent

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sent(monkeypatch):
    """What was put on the queue."""
    found = []
    monkeypatch.setattr(
        current_app, "send_task", lambda name, *args, **options: found.append((name, options))
    )
    monkeypatch.setattr(
        "celery.app.task.Task.apply_async", lambda task, *args, **options: found.append(task.name)
    )
    return found


@pytest.fixture
def queue_away(settings):
    """A broker that nobody listens at; the connections made so far are let go."""
    address = current_app.conf.broker_url
    current_app.conf.broker_url = "redis://127.0.0.1:1/0"
    current_app.amqp._producer_pool = None
    current_app.pool.force_close_all()
    current_app._pool = None
    yield
    current_app.conf.broker_url = address
    current_app.amqp._producer_pool = None
    current_app._pool = None


def waiting(agent):
    return Agent.objects.due(now()).unleased(now()).filter(pk=agent.pk).exists()


def test_without_the_queue_a_create_is_accepted_at_once(alice_api, acme, queue_away, caplog):
    caplog.set_level(logging.WARNING)
    began = time.monotonic()
    response = alice_api.post(
        f"/api/v1/orgs/{acme.pk}/agents", {"name": "scout", "runtime": "hermes"}
    )

    assert response.status_code == 202
    assert time.monotonic() - began < 3
    assert "the sweep will find" in caplog.text
    assert waiting(Agent.objects.get())


def test_the_sweep_finds_every_wish_until_it_was_seen(as_alice):
    agent = create_agent(as_alice, name="scout", runtime="hermes")
    assert waiting(agent)
    Agent.objects.update(observed_generation=agent.generation)
    assert not waiting(agent)

    stop_agent(as_alice, agent)
    assert waiting(agent)


def test_nobody_is_woken_for_what_was_rolled_back(as_alice, monkeypatch):
    published = []
    monkeypatch.setattr("celery.canvas.Signature.delay", lambda self: published.append(self.args))
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        create_agent(as_alice, name="scout", runtime="hermes")
        _ = 1 / 0
    assert published == []

    agent = create_agent(as_alice, name="scout", runtime="hermes")
    assert published == [(agent.pk,)]
