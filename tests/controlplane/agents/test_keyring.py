"""A key's or secret's change, and what it comes to for each agent that uses it (K5)."""

import pytest

from controlplane.agents import keyring
from controlplane.agents.actions import create_agent, stop_agent
from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.models import Agent, Event
from controlplane.audit.models import AuditEvent
from controlplane.errors import Forbidden, Invalid
from controlplane.keys.actions import add_secret
from controlplane.keys.errors import KeyRevoked
from controlplane.keys.models import Key, Secret
from controlplane.keys.vault import VaultUnavailable
from controlplane.tenants.access import of_member
from controlplane.tenants.models import Role
from tests.controlplane.conftest import VALUE
from tests.controlplane.looking import everything

pytestmark = pytest.mark.django_db
NEXT = "sk-ant-api03-" + "n3xtN3XT" * 6


@pytest.fixture
def other(as_alice) -> Agent:
    """Uses no key."""
    return create_agent(as_alice, name="other", runtime="hermes")


@pytest.fixture
def armed(as_alice, key, secret) -> Agent:
    """Uses the key and the secret."""
    return create_agent(as_alice, name="armed", runtime="hermes", key=key.pk, secrets=[secret.pk])


def seen(agent: Agent, status=Status.RUNNING, **columns) -> Agent:
    """As a worker would leave it."""
    agent.refresh_from_db()
    Agent.objects.filter(pk=agent.pk).update(
        status=status, observed_generation=agent.generation, **columns
    )
    agent.refresh_from_db()
    return agent


def only(thing) -> keyring.Result:
    (found,) = keyring.results(type(thing).objects.get(pk=thing.pk))
    return found


def test_users_are_the_live_agents_whose_release_has_it(as_alice, key, secret, agent, other, armed):
    assert list(keyring.users_of(key)) == [armed, agent]
    assert list(keyring.users_of(secret)) == [armed]
    Agent.objects.filter(pk=armed.pk).update(goal=Goal.DELETED)
    assert list(keyring.users_of(key)) == [agent]


def test_a_rotation_now_restarts_those_that_are_to_run(as_alice, key, agent, other, vault):
    idle = create_agent(as_alice, name="idle", runtime="hermes", key=key.pk)
    stop_agent(as_alice, idle)
    before = {one.pk: one.restart_serial for one in (agent, other, idle)}

    changed = keyring.rotate(as_alice, key, value=NEXT)

    after = {one.pk: one.restart_serial for one in Agent.objects.all()}
    assert {pk for pk in after if after[pk] != before[pk]} == {agent.pk}
    assert changed.version == 2
    assert vault.read(key.vault_path) == {"value": NEXT}


def test_the_agents_timeline_and_the_audit_log_say_why(as_alice, key, agent):
    keyring.rotate(as_alice, key, value=NEXT)

    line = Event.objects.filter(agent=agent).latest("pk")
    assert (line.kind, line.title, line.actor) == ("restarted", "Its key main was rotated", "Alice")
    row = AuditEvent.objects.get(action="agent.restarted")
    assert (row.target, row.data) == (agent.pk, {"because": key.pk, "version": 2})


def test_a_rotation_for_the_next_start_restarts_nobody(as_alice, key, agent):
    seen(agent, key_versions={key.pk: 1})

    keyring.rotate(as_alice, key, value=NEXT, apply="next_start")

    agent.refresh_from_db()
    assert agent.observed_generation == agent.generation
    found = only(key)
    assert (found.result, found.version_live, found.version_wanted) == ("at_next_start", 1, 2)


def test_nothing_restarts_while_the_organisation_is_paused(as_alice, acme, key, agent):
    type(acme).objects.filter(pk=acme.pk).update(paused_reason="The invoice of May is open.")

    keyring.rotate(as_alice, key, value=NEXT)

    assert Agent.objects.get().restart_serial == 0


def test_it_takes_no_right_over_agents(acme, bob, key, agent):
    bob.memberships.update(role=Role.DEVELOPER)
    access = of_member(bob, id=acme.pk)
    narrow = type(access)(access.organisation, access.actor, bob, frozenset({"keys:write"}), "")

    keyring.rotate(narrow, key, value=NEXT)

    assert Agent.objects.get().restart_serial == 1


def test_a_viewer_changes_nothing(as_bob, key, agent):
    before = everything()
    for act in (
        lambda: keyring.rotate(as_bob, key, value=NEXT),
        lambda: keyring.revoke(as_bob, key),
    ):
        with pytest.raises(Forbidden):
            act()
    assert everything() == before


STATES = [
    # goal, status, whether the newest wish was seen, version it was started with → result
    ("running", "running", True, 2, "live"),
    ("running", "degraded", True, 2, "live"),
    ("running", "running", True, 1, "at_next_start"),
    ("running", "running", True, None, "at_next_start"),
    ("running", "running", False, 1, "restarting"),
    ("running", "running", False, 2, "restarting"),
    ("running", "restarting", True, 2, "restarting"),
    ("running", "starting", True, 2, "restarting"),
    ("running", "waiting", True, 1, "restarting"),
    ("running", "failed", True, 2, "failed"),
    ("running", "crash_looping", True, 2, "failed"),
    ("running", "failed", False, 1, "restarting"),
    ("running", "unknown", True, 2, "restarting"),
    ("stopped", "stopped", True, 1, "stopped"),
    ("stopped", "stopping", False, 1, "stopped"),
    ("suspended", "suspended", True, 1, "stopped"),
]


@pytest.mark.parametrize(("goal", "status", "is_seen", "live", "result"), STATES)
def test_the_result_by_agent(key, agent, goal, status, is_seen, live, result):
    Key.objects.update(version=2)
    Agent.objects.update(message="Its vault is sealed.")
    seen(agent, status, goal=goal, key_versions={key.pk: live} if live else {})
    if not is_seen:
        Agent.objects.update(generation=agent.generation + 1)

    found = only(key)
    assert (found.result, found.version_live, found.version_wanted) == (result, live, 2)
    assert found.message


def test_the_api_tells_it(alice_api, acme, key, agent):
    seen(agent, key_versions={key.pk: 1})
    path = f"/api/v1/orgs/{acme.pk}/keys/{key.pk}"
    alice_api.post(f"{path}/rotate", {"value": NEXT, "apply": "next_start"})

    assert alice_api.get(f"{path}/agents").json() == {
        "items": [
            {
                "agent": agent.pk,
                "name": "scout",
                "version_live": 1,
                "version_wanted": 2,
                "result": "at_next_start",
                "message": "It runs with the value before, until its next start.",
            }
        ]
    }


def test_an_unknown_way_to_apply_is_refused(as_alice, alice_api, acme, key, vault):
    with pytest.raises(Invalid, match="apply is 'now' or 'next_start'"):
        keyring.rotate(as_alice, key, value=NEXT, apply="later")
    body = {"value": NEXT, "apply": "later"}
    assert alice_api.post(f"/api/v1/orgs/{acme.pk}/keys/{key.pk}/rotate", body).status_code == 422
    assert vault.read(key.vault_path) == {"value": VALUE}


def test_a_retried_rotation_is_one(alice_api, acme, key, agent):
    path, headers = f"/api/v1/orgs/{acme.pk}/keys/{key.pk}/rotate", {"Idempotency-Key": "once"}

    answers = [alice_api.post(path, {"value": NEXT}, headers=headers).json() for _ in range(2)]

    assert answers[0] == answers[1]
    assert (Key.objects.get().version, Agent.objects.get().restart_serial) == (2, 1)


def test_a_secret_is_rotated_the_same_way(as_alice, secret, armed, vault):
    keyring.rotate(as_alice, secret, value="new")

    assert Secret.objects.get().version == 2
    assert Agent.objects.get().restart_serial == 1
    line = Event.objects.filter(agent=armed).latest("pk")
    assert line.title == "Its secret GRAFANA_TOKEN was rotated"


def test_a_secret_does_not_outgrow_its_agents(as_alice, secret, vault):
    more = [add_secret(as_alice, name=f"BIG_{at}", value="x" * 32_768) for at in range(3)]
    ids = [secret.pk, *(one.pk for one in more)]
    create_agent(as_alice, name="full", runtime="hermes", secrets=ids)
    keyring.rotate(as_alice, secret, value="x" * 32_768)
    before = Secret.objects.get(pk=secret.pk).version
    extra = add_secret(as_alice, name="SMALL", value="x")
    Agent.objects.get().release.secrets.add(extra)

    with pytest.raises(Invalid, match="the secrets of full have more than 128 KiB"):
        keyring.rotate(as_alice, extra, value="xy")
    assert Secret.objects.get(pk=secret.pk).version == before
    assert Secret.objects.get(pk=extra.pk).version == 1


def test_a_revocation_stops_those_that_run_with_it_and_names_them(
    alice_api, as_alice, acme, key, agent, other, vault
):
    idle = stop_agent(as_alice, create_agent(as_alice, name="idle", runtime="hermes", key=key.pk))

    answer = alice_api.delete(f"/api/v1/orgs/{acme.pk}/keys/{key.pk}")

    assert answer.json() == {"stopped": [{"agent": agent.pk, "name": "scout"}]}
    assert vault.values == {}
    goals = dict(Agent.objects.values_list("pk", "goal"))
    assert goals == {agent.pk: "stopped", other.pk: "running", idle.pk: "stopped"}


def test_the_timeline_says_why_it_was_stopped_and_what_to_do(as_alice, key, agent):
    keyring.revoke(as_alice, key)

    line = Event.objects.filter(agent=agent).latest("pk")
    assert (line.kind, line.level, line.title) == ("stopped", "warn", "Its key main was revoked")
    assert line.detail == "It is stopped. Choose another key in its settings, then start it."
    row = AuditEvent.objects.get(action="agent.stopped")
    assert row.data == {"because": key.pk, "version": 1}


def test_a_revocation_that_fails_stops_nobody(as_alice, key, agent, vault):
    before = everything()
    vault.sealed = True
    with pytest.raises(VaultUnavailable):
        keyring.revoke(as_alice, key)
    vault.sealed = False

    assert everything() == before


def test_it_is_revoked_once(as_alice, key, agent):
    keyring.revoke(as_alice, key)
    before = everything()

    with pytest.raises(KeyRevoked):
        keyring.revoke(as_alice, key)
    assert everything() == before


def test_a_strangers_agent_is_none_of_it(as_alice, as_charlie, key, charlie_api, umbrella):
    theirs = create_agent(as_charlie, name="theirs", runtime="hermes")

    keyring.rotate(as_alice, key, value=NEXT)

    theirs.refresh_from_db()
    assert theirs.restart_serial == 0
    assert keyring.results(key) == []
