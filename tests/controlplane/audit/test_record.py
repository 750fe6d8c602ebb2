"""The audit log: one row for everything people do, and nobody changes the past."""

import pytest
from django.db import InternalError, ProgrammingError, connection, transaction

from controlplane.agents import actions as agents
from controlplane.audit.models import AuditEvent
from controlplane.keys import actions as keys
from controlplane.tenants import actions as tenants
from tests.controlplane.conftest import VALUE

pytestmark = pytest.mark.django_db

CHANGE = "UPDATE audit_auditevent SET actor_label = 'nobody'"
RAISED = (InternalError, ProgrammingError)


@pytest.mark.parametrize("sql", [CHANGE, "DELETE FROM audit_auditevent"])
def test_the_database_refuses_to_change_the_past(acme, sql):
    rows = list(AuditEvent.objects.values())
    with pytest.raises(RAISED, match="append-only"), transaction.atomic():
        connection.cursor().execute(sql)

    assert rows
    assert list(AuditEvent.objects.values()) == rows


@pytest.mark.parametrize(
    "act", [lambda rows: rows.update(actor_label="nobody"), lambda rows: rows.delete()]
)
def test_so_it_is_from_code(acme, act):
    with pytest.raises(RAISED, match="append-only"), transaction.atomic():
        act(AuditEvent.objects.all())


ACTS = {
    "agent.created": lambda a, agent, key: agents.create_agent(a, name="b", runtime="hermes"),
    "agent.renamed": lambda a, agent, key: agents.update_agent(a, agent, name="b"),
    "agent.changed": lambda a, agent, key: agents.update_agent(a, agent, size="medium"),
    "agent.started": lambda a, agent, key: agents.start_agent(a, agent),
    "agent.stopped": lambda a, agent, key: agents.stop_agent(a, agent),
    "agent.restarted": lambda a, agent, key: agents.restart_agent(a, agent),
    "agent.deleted": lambda a, agent, key: agents.delete_agent(a, agent),
    "key.added": lambda a, agent, key: keys.add_key(a, name="b", provider="anthropic", value=VALUE),
    "key.rotated": lambda a, agent, key: keys.rotate_key(a, key, value=VALUE),
    "key.revoked": lambda a, agent, key: keys.revoke_key(a, key),
    "secret.added": lambda a, agent, key: keys.add_secret(a, name="B_TOKEN", value="x"),
    "token.issued": lambda a, agent, key: tenants.issue_token(a, name="b"),
    "organisation.renamed": lambda a, agent, key: tenants.rename_organisation(a, name="Acme 2"),
}


@pytest.mark.parametrize("action", ACTS)
def test_every_act_writes_one_row_with_who_and_what(as_alice, agent, key, action):
    before = AuditEvent.objects.count()

    ACTS[action](as_alice, agent, key)

    row = AuditEvent.objects.latest("pk")
    assert AuditEvent.objects.count() == before + 1
    assert (row.action, row.actor_kind, row.actor_label) == (action, "member", "Alice")
    assert row.organisation == as_alice.organisation.pk
    assert row.target
    assert row.target_label


def test_bringing_an_agent_back_is_told(as_alice, agent):
    agents.delete_agent(as_alice, agent)
    agents.restore_agent(as_alice, agent)

    assert AuditEvent.objects.filter(action="agent.restored", target=agent.pk).count() == 1


def test_revoking_a_token_twice_is_told_once(as_alice):
    token, _ = tenants.issue_token(as_alice, name="b")
    for _ in range(2):
        tenants.revoke_token(as_alice, token)

    assert AuditEvent.objects.filter(action="token.revoked").count() == 1


def test_no_action_was_forgotten_above():
    """A verb that is added to an actions module belongs into this file too."""
    verbs = {
        name
        for module in (agents, keys, tenants)
        for name, found in vars(module).items()
        if getattr(found, "__module__", "") == module.__name__ and not name.startswith("_")
    }
    reading = {"find_key", "find_secrets", "examine_key", "locked", "noun", "Thing"}

    assert verbs - reading == {
        *("create_agent", "update_agent", "start_agent", "stop_agent", "restart_agent"),
        *("delete_agent", "restore_agent", "add_key", "rotate_key", "revoke_key"),
        *("add_secret", "rotate_secret", "revoke_secret"),
        *("issue_token", "revoke_token", "create_organisation", "rename_organisation"),
    }
