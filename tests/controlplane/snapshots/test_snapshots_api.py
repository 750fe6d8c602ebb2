"""Snapshots and restores as people ask for them."""

import pytest
from django.utils.timezone import now

from controlplane.agents.actions import create_agent, update_agent
from controlplane.agents.models import Agent
from controlplane.audit.models import AuditEvent
from controlplane.snapshots import actions
from controlplane.snapshots.models import Restore, Snapshot

pytestmark = pytest.mark.django_db


@pytest.fixture
def made(agent):
    """An agent whose workspace is there."""
    Agent.objects.filter(pk=agent.pk).update(workspace_made_at=now())
    agent.refresh_from_db()
    return agent


@pytest.fixture
def url(acme, agent) -> str:
    return f"/api/v1/orgs/{acme.pk}/agents/{agent.pk}/snapshots"


def test_one_is_accepted_and_waits_for_its_node(alice_api, made, url):
    response = alice_api.post(url, {"note": "before the big change"})

    assert response.status_code == 202, response.json()
    row = Snapshot.objects.get()
    assert (row.origin, row.note, row.release, row.disk_gib) == (
        "manual", "before the big change", 1, 5,
    )  # fmt: skip
    told = response.json()
    assert (told["id"], told["status"], told["usable"]) == (row.pk, "pending", False)
    assert AuditEvent.objects.get(action="agent.snapshot_taken").data["snapshot"] == row.pk
    assert made.events.get(kind="snapshot.asked").actor == "token test"


def test_without_a_workspace_there_is_nothing_to_take(alice_api, agent, url):
    response = alice_api.post(url, {})

    assert (response.status_code, response.json()["code"]) == (409, "nothing_to_snapshot")
    assert not Snapshot.objects.exists()


@pytest.mark.parametrize("body", [{"note": "x" * 201}, {"note": "two\nlines"}, {"agent": "agt_x"}])
def test_bad_input_is_refused(alice_api, made, url, body):
    assert alice_api.post(url, body).status_code == 422
    assert not Snapshot.objects.exists()


def test_there_is_a_most(as_alice, made, monkeypatch):
    monkeypatch.setattr(actions, "MOST", 2)
    for _ in range(2):
        actions.take_snapshot(as_alice, made)

    with pytest.raises(actions.TooManySnapshots, match="Delete one"):
        actions.take_snapshot(as_alice, made)


@pytest.mark.parametrize(
    "state", [{"manifest_sha256": ""}, {"on_node": False, "verified_at": None}]
)
def test_one_that_is_not_whole_is_not_restored(alice_api, url, snapshot, state):
    Snapshot.objects.update(**state, message="The pool was full.")

    response = alice_api.post(f"{url}/{snapshot.pk}/restore", {})

    assert (response.status_code, response.json()["code"]) == (409, "snapshot_not_usable")
    assert "The pool was full." in response.json()["detail"]
    assert not Restore.objects.exists()


def test_a_failed_shipment_leaves_a_copy_that_is_good(alice_api, url, snapshot):
    Snapshot.objects.update(status="failed", reason="store_unavailable")

    assert alice_api.post(f"{url}/{snapshot.pk}/restore", {}).status_code == 202


def test_two_restores_at_once_are_refused(alice_api, url, snapshot):
    assert alice_api.post(f"{url}/{snapshot.pk}/restore", {}).status_code == 202

    second = alice_api.post(f"{url}/{snapshot.pk}/restore", {})

    assert (second.status_code, second.json()["code"]) == (409, "restore_under_way")
    assert Restore.objects.count() == 1


def test_one_that_is_being_restored_is_not_deleted(alice_api, url, snapshot):
    alice_api.post(f"{url}/{snapshot.pk}/restore", {})

    assert alice_api.delete(f"{url}/{snapshot.pk}").status_code == 409
    Restore.objects.update(status="done")
    assert alice_api.delete(f"{url}/{snapshot.pk}").status_code == 204
    assert AuditEvent.objects.get(action="agent.snapshot_deleted").data["snapshot"] == snapshot.pk


def test_another_agents_snapshot_is_not_there(alice_api, as_alice, acme, snapshot):
    """T4: also within the same organisation."""
    other = create_agent(as_alice, name="other", runtime="hermes")
    url = f"/api/v1/orgs/{acme.pk}/agents/{other.pk}/snapshots/{snapshot.pk}"

    assert alice_api.get(url).status_code == 404
    assert alice_api.post(f"{url}/restore", {}).status_code == 404
    assert alice_api.delete(url).status_code == 404
    assert Snapshot.objects.get() == snapshot


def test_a_fork_takes_over_settings_and_no_secrets(
    alice_api, as_alice, url, agent, secret, snapshot
):
    """S13"""
    update_agent(as_alice, agent, secrets=[secret.pk], model="m-1")
    Snapshot.objects.update(release=2)

    response = alice_api.post(f"{url}/{snapshot.pk}/fork", {"name": "twin"})

    assert response.status_code == 202, response.json()
    twin = Agent.objects.get(name="twin")
    assert (twin.origin, twin.runtime, twin.pk != agent.pk) == (snapshot.pk, "hermes", True)
    assert (twin.release.key, twin.release.model) == (agent.release.key, "m-1")
    assert list(twin.release.secrets.all()) == []
    assert twin.events.filter(kind="forked").exists()


@pytest.mark.parametrize(
    "state", [{"manifest_sha256": ""}, {"on_node": False, "verified_at": now()}]
)
def test_what_is_not_on_the_node_is_not_forked(alice_api, url, snapshot, state):
    Snapshot.objects.update(**state)

    response = alice_api.post(f"{url}/{snapshot.pk}/fork", {"name": "twin"})

    assert (response.status_code, response.json()["code"]) == (409, "snapshot_not_usable")
    assert not Agent.objects.filter(name="twin").exists()


def test_a_fork_counts_against_the_limits(alice_api, acme, url, snapshot):
    """L1: no way around a limit or a pause."""
    type(acme).objects.filter(pk=acme.pk).update(agent_limit=1)
    assert alice_api.post(f"{url}/{snapshot.pk}/fork", {"name": "twin"}).status_code == 409

    type(acme).objects.filter(pk=acme.pk).update(agent_limit=5, paused_reason="unpaid")
    assert alice_api.post(f"{url}/{snapshot.pk}/fork", {"name": "twin"}).status_code == 402


def test_nobody_names_an_origin_at_create(alice_api, acme, snapshot):
    """T2, T5"""
    body = {"name": "spy", "runtime": "hermes", "origin": snapshot.pk}

    assert alice_api.post(f"/api/v1/orgs/{acme.pk}/agents", body).status_code == 422
