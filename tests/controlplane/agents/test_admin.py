"""The operators' pages: they find and nudge, and never edit what a worker owns."""

import pytest
from allauth.account.models import EmailAddress
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Group
from django.test import Client
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.audit.models import AuditEvent
from controlplane.scans.models import OperatorReport, ScanKey
from controlplane.tenants.models import User
from controlplane.upgrades.models import Halt
from provisioner.models import Block, Node, ReapPlan, Stray
from tests.controlplane.conftest import VALUE
from tests.controlplane.looking import everything

pytestmark = pytest.mark.django_db

# urls.py takes two pages of the libraries' out of the admin, once it is loaded.
TAKEN_OUT = {Group, EmailAddress}
MODELS = sorted(set(admin.site._registry) - TAKEN_OUT, key=lambda model: model._meta.label)
BACKEND = "django.contrib.auth.backends.ModelBackend"


@pytest.fixture
def operator(db) -> Client:
    user = User.objects.create_superuser("oscar@example.test", "correct horse", name="Oscar")
    client = Client()
    client.force_login(user, BACKEND)
    return client


@pytest.fixture
def rows(
    agent, key, secret, scan, restore, drill, trial, upgrade, export, upload, as_alice, alice_api
):
    """At least one row of everything."""
    node = Node.objects.create(name="node-1", heartbeat_at=now())
    OperatorReport.objects.create(pk=scan.pk, agent=agent.pk, findings=1, report={"findings": []})
    ScanKey.objects.create(pk="0123456789abcdef", public_key="AAAA")
    Block.objects.create(number=1, node=node.name, organisation=as_alice.organisation)
    Stray.objects.create(node=node.name, kind="disk", identity="agt_a", name="x", agent="agt_a")
    ReapPlan.objects.create(node=node.name, items=[{"kind": "disk", "name": "x"}], made_by="a")
    assert all(model.objects.exists() for model in MODELS)


def address(model, what):
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/{what}"


def page_of(row):
    """As the admin's own links say it: an id with `_24` in it would otherwise be read as `$`."""
    return address(type(row), f"{quote(row.pk)}/change/")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_list_and_search_opens(operator, rows, model):
    assert operator.get(address(model, "")).status_code == 200
    assert operator.get(address(model, ""), {"q": "a"}).status_code == 200


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_row_opens(operator, rows, model):
    for row in model.objects.all()[:3]:
        page = operator.get(page_of(row))
        assert page.status_code == 200
        assert VALUE not in page.content.decode()


READ_ONLY = [
    *("Agent", "Key", "Secret", "Scan", "OperatorReport", "ScanKey"),
    *("Snapshot", "Restore", "Drill", "DrillPlan", "TrialRestore", "TrialPlan", "Upgrade", "Halt"),
    *("Export", "Import"),
    *("ApiToken", "AuditEvent", "Node", "Block", "Stray", "ReapPlan"),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_what_others_own_is_read_only(operator, rows, model):
    if model.__name__ not in READ_ONLY:
        assert model.__name__ in {"User", "Organisation"}
        return
    row, before = model.objects.first(), everything()

    assert operator.post(address(model, "add/")).status_code == 403
    changed = operator.post(page_of(row), {"status": "running"})
    assert changed.status_code == 403
    assert everything() == before


def test_an_agents_page_has_no_field_to_type_in(operator, agent):
    page = operator.get(page_of(agent)).content.decode()

    assert 'name="_save"' not in page
    assert 'name="status"' not in page
    assert "scout was created" in page


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
@pytest.mark.parametrize("who", ["nobody", "alice"])
def test_only_operators_get_in(client, alice, rows, model, who):
    if who == "alice":
        client.force_login(alice, BACKEND)

    response = client.get(address(model, ""))

    assert response.status_code == 302
    assert response["Location"].startswith("/admin/login/")


def run(operator, action, *agents):
    body = {"action": action, "_selected_action": [agent.pk for agent in agents]}
    return operator.post(address(Agent, ""), body, follow=True)


@pytest.mark.parametrize(
    ("action", "goal", "told"),
    [
        ("stop", "stopped", "agent.stopped"),
        ("start", "running", "agent.started"),
        ("restart", "running", "agent.restarted"),
    ],
)
def test_actions_are_the_customers_own_under_the_operators_name(
    operator, agent, action, goal, told
):
    page = run(operator, action, agent)
    after = Agent.objects.get()

    assert "Done for 1 agents." in page.content.decode()
    assert (after.goal, after.generation) == (goal, agent.generation + 1)
    row = AuditEvent.objects.get(action=told)
    assert (row.actor_kind, row.actor_label, row.target) == ("operator", "operator Oscar", agent.pk)
    assert row.organisation == agent.organisation_id
    assert agent.events.latest("pk").actor == "operator Oscar"


def test_a_refusal_is_told_and_the_others_go_on(operator, agent, as_alice, acme):
    type(acme).objects.update(paused_reason="The invoice of May is open.")

    page = run(operator, "start", agent).content.decode()

    assert "invoice of May" in page
    assert "Done for 0 agents." in page
    assert not AuditEvent.objects.filter(action="agent.started").exists()


def test_looking_again_changes_no_wish(operator, agent):
    before = everything()

    page = run(operator, "reconcile_now", agent)

    assert "Asked the nodes" in page.content.decode()
    after = everything()
    assert after["agents_agent"] == before["agents_agent"]
    assert after["audit_auditevent"] == before["audit_auditevent"]


def test_an_unknown_action_does_nothing(operator, agent):
    before = everything()["agents_agent"]
    run(operator, "delete_selected", agent)
    run(operator, "destroy", agent)

    assert everything()["agents_agent"] == before


def test_an_operator_allows_an_image_on_hold_again(operator, upgrade):
    halt = Halt.objects.get()
    body = {"action": "allow", "_selected_action": [halt.pk]}

    operator.post(address(Halt, ""), body, follow=True)

    halt.refresh_from_db()
    assert (halt.lifted_at is not None, halt.lifted_by) == (True, "operator Oscar")
    row = AuditEvent.objects.get(action="upgrades.allowed")
    assert (row.actor_kind, row.target) == ("operator", halt.pk)


def test_pages_that_would_mislead_are_not_there(operator):
    page = operator.get("/admin/").content.decode()

    assert "Roost, for operators" in page
    assert "/admin/auth/group/" not in page
    assert "/admin/account/emailaddress/" not in page


def test_limits_and_members_of_an_organisation_can_be_changed(operator, acme, bob):
    member = acme.memberships.get(user=bob)
    others = acme.memberships.exclude(pk=member.pk).get()
    form = {
        **{"name": acme.name, "slug": acme.slug, "agent_limit": 3, "paused_reason": ""},
        **{"memory_mb_limit": 16384, "disk_gib_limit": 100},
        **{"memberships-TOTAL_FORMS": 2, "memberships-INITIAL_FORMS": 2},
        **{"memberships-0-id": others.pk, "memberships-0-organisation": acme.pk},
        **{"memberships-0-user": others.user_id, "memberships-0-role": others.role},
        **{"memberships-1-id": member.pk, "memberships-1-organisation": acme.pk},
        **{"memberships-1-user": bob.pk, "memberships-1-role": "developer"},
    }

    answer = operator.post(page_of(acme), form)

    assert answer.status_code == 302
    acme.refresh_from_db()
    member.refresh_from_db()
    assert (acme.agent_limit, member.role) == (3, "developer")
    row = AuditEvent.objects.get(action="organisation.edited")
    assert row.data["fields"] == ["agent_limit"]
    assert row.data["related"] == ["changed Bob (developer)"]
