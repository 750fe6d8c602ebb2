"""Operators' pages of strays: adopt, leave alone, a dry run, and what it listed."""

import pytest
from django.test import Client
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.audit.models import AuditEvent
from controlplane.tenants.models import User
from provisioner.models import Node, ReapPlan, Stray

pytestmark = pytest.mark.django_db(transaction=True)
BACKEND = "django.contrib.auth.backends.ModelBackend"


@pytest.fixture
def oscar(db) -> Client:
    user = User.objects.create_superuser("oscar@example.test", "correct horse", name="Oscar")
    client = Client()
    client.force_login(user, BACKEND)
    return client


def act(client: Client, model: str, action: str, *keys: str) -> str:
    body = {"action": action, "_selected_action": keys}
    page = client.post(f"/admin/provisioner/{model}/", body, follow=True)
    assert page.status_code == 200
    return page.content.decode()


def test_one_is_adopted_under_the_operators_name(lost, look, oscar):
    look()

    act(oscar, "stray", "adopt", Stray.objects.get(kind="disk").pk)

    assert Agent.objects.get().pk == lost
    assert AuditEvent.objects.get(action="agent.adopted").actor_label == "operator Oscar"


def test_what_cannot_be_adopted_says_why(lost, look, oscar):
    look()
    Stray.objects.filter(kind="disk").update(state="gone")

    assert "no workspace of" in act(oscar, "stray", "adopt", Stray.objects.get(kind="container").pk)
    assert not Agent.objects.exists()


def test_one_is_left_alone_and_heeded_again(lost, look, oscar):
    look()
    stray = Stray.objects.get(kind="disk")

    act(oscar, "stray", "ignore", stray.pk)
    assert Stray.objects.get(pk=stray.pk).state == "ignored"
    for _ in range(2):
        act(oscar, "stray", "heed", stray.pk)
        assert Stray.objects.get(pk=stray.pk).state == "found"
        Stray.objects.update(state="removing")


def test_a_dry_run_and_then_what_it_listed(lost, look, aged, oscar, engine):
    look()
    aged()

    said = act(oscar, "stray", "dry_run", Stray.objects.first().pk)
    plan = ReapPlan.objects.get()
    assert plan.pk in said
    assert not Stray.objects.filter(state="removing").exists()

    act(oscar, "reapplan", "agree", plan.pk)
    assert Stray.objects.filter(state="removing").count() == 5
    assert engine.kept  # it is the node that removes
    assert "no plan" in act(oscar, "reapplan", "agree", plan.pk)


def test_a_restored_database_is_trusted(oscar, settings):
    moment = now()
    Node.objects.create(name=settings.ROOST_NODE, heartbeat_at=moment, database_older_since=moment)

    act(oscar, "node", "trust_database", settings.ROOST_NODE)

    assert Node.objects.get().database_older_since is None
    assert AuditEvent.objects.filter(action="node.database_trusted").exists()


def test_nobody_else_may(lost, look, alice):
    look()
    client = Client()
    client.force_login(alice, BACKEND)

    page = client.post(
        "/admin/provisioner/stray/",
        {"action": "adopt", "_selected_action": [Stray.objects.first().pk]},
    )

    assert page.status_code in {302, 403, 404}
    assert not Agent.objects.exists()
