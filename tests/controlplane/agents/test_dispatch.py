"""Waking the provisioner: after the commit, by a task's name, and never at the caller's cost."""

import logging
import time

import pytest
from celery import Celery
from django.db import transaction
from django.utils.timezone import now

from controlplane.agents.actions import create_agent, stop_agent
from controlplane.agents.models import Agent
from controlplane.celery import app

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def queue_away():
    """The same queue as ever, but nobody listens at its address."""
    away = Celery("away", set_as_current=False)
    away.config_from_object("django.conf:settings", namespace="CELERY")
    away.conf.broker_url = "redis://127.0.0.1:1/0"
    away.set_current()
    yield
    app.set_current()
    away.close()


class Oops(Exception):
    pass


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

    def create_and_fail():
        with transaction.atomic():
            create_agent(as_alice, name="scout", runtime="hermes")
            raise Oops

    with pytest.raises(Oops):
        create_and_fail()
    assert published == []

    agent = create_agent(as_alice, name="scout", runtime="hermes")
    assert published == [(agent.pk,)]
