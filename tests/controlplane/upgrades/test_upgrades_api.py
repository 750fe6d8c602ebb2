"""Releases, upgrades and rollbacks over the API."""

import pytest
from django.utils.timezone import now

from controlplane.agents.actions import create_agent, update_agent
from controlplane.agents.models import Release
from controlplane.audit.actor import SYSTEM, Actor
from controlplane.audit.models import AuditEvent
from controlplane.drills.models import Drill
from controlplane.jobs.models import JobStatus
from controlplane.keys.actions import add_key, add_secret, revoke_key, revoke_secret
from controlplane.snapshots.models import Restore
from controlplane.upgrades.actions import allow_again, upgrade_agent
from controlplane.upgrades.models import Halt, Outcome, Upgrade
from controlplane.upgrades.queries import failures_in_a_row
from tests.controlplane.looking import everything

pytestmark = pytest.mark.django_db


@pytest.fixture
def up(agent):
    type(agent).objects.update(status="running", workspace_made_at=now(), observed_generation=1)
    agent.refresh_from_db()
    return agent


@pytest.fixture
def at(acme, up) -> str:
    return f"/api/v1/orgs/{acme.pk}/agents/{up.pk}"


def settle(agent):
    agent.refresh_from_db()
    type(agent).objects.filter(pk=agent.pk).update(observed_generation=agent.generation)
    agent.refresh_from_db()


# --- the history
def test_a_history_says_who_made_each_release_and_what_it_changed(alice_api, at, up, as_alice):
    update_agent(as_alice, up, size="medium", model="claude-x")

    rows = alice_api.get(f"{at}/releases").json()["items"]

    assert [(row["number"], row["cause"], row["author"]) for row in rows] == [
        (2, "changed", "Alice"),
        (1, "created", "Alice"),
    ]
    changed = {one["field"]: (one["old"], one["new"]) for one in rows[0]["changes"]}
    assert changed["memory_mb"] == (512, 2048)
    assert changed["model"][1] == "claude-x"
    assert changed.keys() == {"model", "memory_mb", "cpu_millis"}
    assert rows[1]["changes"] == []
    assert alice_api.get(f"{at}/releases/2").json() == rows[0]
    assert alice_api.get(f"{at}/releases/3").status_code == 404


def test_keys_and_secrets_are_told_by_their_names(alice_api, at, up, as_alice, key):
    other = add_key(as_alice, name="other", provider="anthropic", value="sk-ant-0123456789abcd")
    secret = add_secret(as_alice, name="GRAFANA_TOKEN", kind="env", value="tell nobody")
    update_agent(as_alice, up, key=other.pk, secrets=[secret.pk])

    body = alice_api.get(f"{at}/releases/2")

    changed = {one["field"]: (one["old"], one["new"]) for one in body.json()["changes"]}
    assert changed["key"] == (key.name, "other")
    assert changed["secrets"] == ([], ["GRAFANA_TOKEN"])
    assert (body.json()["key_name"], body.json()["secret_names"]) == ("other", ["GRAFANA_TOKEN"])
    assert b"tell nobody" not in body.content
    assert b"0123456789abcd" not in body.content


def test_two_keys_of_one_name_are_told_apart(alice_api, at, up, as_alice, key):
    revoke_key(as_alice, key)
    again = add_key(as_alice, name=key.name, provider="anthropic", value="sk-ant-0123456789abcd")
    update_agent(as_alice, up, key=again.pk)

    changed = alice_api.get(f"{at}/releases/2").json()["changes"]

    assert {"field": "key", "old": key.pk, "new": again.pk} in changed


def test_numbers_may_be_missing(alice_api, at, up, as_alice):
    update_agent(as_alice, up, size="medium")
    Release.objects.filter(number=2).update(number=7)
    up.refresh_from_db()
    update_agent(as_alice, up, size="large")

    rows = alice_api.get(f"{at}/releases").json()["items"]

    memory = [
        [(one["old"], one["new"]) for one in row["changes"] if one["field"] == "memory_mb"]
        for row in rows
    ]
    assert memory == [[(2048, 4096)], [(512, 2048)], []]
    assert alice_api.get(f"{at}/releases/7").json() == rows[1]


def test_a_history_comes_in_pages(alice_api, at, up, as_alice):
    for size in ("medium", "large"):
        update_agent(as_alice, up, size=size)

    first = alice_api.get(f"{at}/releases?limit=2").json()
    rest = alice_api.get(first["next"]).json()

    assert [row["number"] for row in first["items"] + rest["items"]] == [3, 2, 1]
    assert rest["next"] is None


def test_changed_settings_keep_the_image(up, as_alice, newer):
    before = up.release.image

    release = update_agent(as_alice, up, size="medium").release

    assert (release.number, release.image) == (2, before)


def test_an_agent_says_what_it_could_be_upgraded_to(alice_api, at, newer):
    told = alice_api.get(at).json()["update_available"]

    assert (told["image"], told["version"]) == (newer, "0.19.0")


def test_one_that_runs_the_newest_image_says_nothing(alice_api, at):
    assert alice_api.get(at).json()["update_available"] is None


# --- asking for an upgrade
def test_an_upgrade_is_accepted_and_waits_for_its_node(alice_api, at, up, newer):
    response = alice_api.post(f"{at}/upgrade", {})

    assert response.status_code == 202
    told, row = response.json(), Upgrade.objects.get()
    assert (told["id"], told["status"], told["outcome"]) == (row.pk, "pending", "")
    assert (told["from_image"], told["to_image"]) == (up.release.image, newer)
    assert alice_api.get(f"{at}/upgrades/{row.pk}").json() == told
    assert alice_api.get(f"{at}/upgrades").json()["items"] == [told]
    event = AuditEvent.objects.get(action="agent.upgraded")
    assert (event.target, event.data["after"]) == (up.pk, newer)
    assert up.events.get(kind="upgrade.asked").actor == "token test"
    assert up.releases.count() == 1  # nothing is switched before all was looked at


def refused(response, code):
    assert (response.status_code, response.json()["code"]) == (409, code)
    return response.json()["detail"]


def test_the_newest_cannot_be_upgraded(alice_api, at):
    refused(alice_api.post(f"{at}/upgrade", {}), "nothing_to_upgrade")
    assert not Upgrade.objects.exists()


def test_one_that_starts_is_left_alone(alice_api, at, up, newer):
    type(up).objects.update(status="starting")

    assert "starting" in refused(alice_api.post(f"{at}/upgrade", {}), "not_settled")
    assert not Upgrade.objects.exists()


@pytest.mark.parametrize("kind", ["drill", "restore", "upgrade"])
def test_one_thing_at_a_time(alice_api, at, up, newer, kind, request):
    row = request.getfixturevalue(kind)
    type(row).objects.filter(pk=row.pk).update(status="running")

    said = refused(alice_api.post(f"{at}/upgrade", {}), "agent_at_work")
    assert f" {kind} of " in said
    assert Upgrade.objects.under_way().count() == (kind == "upgrade")


@pytest.mark.parametrize(
    ("path", "body"), [("drills", {"kind": "process"}), ("snapshots/{}/restore", {})]
)
def test_nothing_else_begins_in_the_middle_of_an_upgrade(
    alice_api, at, up, newer, snapshot, path, body
):
    alice_api.post(f"{at}/upgrade", {})

    response = alice_api.post(f"{at}/{path.format(snapshot.pk)}", body)

    assert "An upgrade of" in refused(response, "agent_at_work")
    assert not Drill.objects.exists()
    assert not Restore.objects.exists()


def test_the_snapshot_of_an_upgrade_stays_while_that_may_go_back(alice_api, at, snapshot, newer):
    alice_api.post(f"{at}/upgrade", {})
    Upgrade.objects.update(snapshot=snapshot)

    refused(alice_api.delete(f"{at}/snapshots/{snapshot.pk}"), "agent_at_work")
    snapshot.refresh_from_db()
    assert snapshot.deleted_at is None


# --- versions that failed
def failed(agent, image, outcome=Outcome.ROLLED_BACK, *, ran=True):
    return Upgrade.objects.create(
        agent=agent,
        from_image="roost/hermes:old",
        from_version="1",
        to_image=image,
        to_version="2",
        requested_by="Alice",
        status=JobStatus.FAILED,
        outcome=outcome,
        message="It ended again and again.",
        healthy_at=now() if ran else None,
        finished_at=now(),
    )


def test_a_version_that_failed_is_remembered(alice_api, at, up, newer):
    failed(up, newer)

    said = refused(alice_api.post(f"{at}/upgrade", {}), "failed_before")
    assert "It ended again and again." in said
    assert f"{now():%Y-%m-%d}" in said

    assert alice_api.post(f"{at}/upgrade", {"force": True}).status_code == 202


def test_another_agent_may_try(alice_api, at, as_alice, newer):
    failed(create_agent(as_alice, name="other", runtime="hermes"), newer)

    assert alice_api.post(f"{at}/upgrade", {}).status_code == 202


def test_a_version_that_went_well_since_is_forgiven(alice_api, at, up, newer):
    failed(up, newer)
    failed(up, newer, Outcome.KEPT)

    assert alice_api.post(f"{at}/upgrade", {}).status_code == 202


def test_a_version_that_a_stopped_agent_was_moved_to_was_not_tried(alice_api, at, up, newer):
    failed(up, newer)
    failed(up, newer, Outcome.KEPT, ran=False)

    refused(alice_api.post(f"{at}/upgrade", {}), "failed_before")
    assert failures_in_a_row(newer) == 1


def test_one_on_hold_is_refused_even_with_force_until_an_operator_allows_it(
    alice_api, at, newer, as_alice
):
    halt = Halt.objects.create(
        image=newer, runtime="hermes", version="2", since=now(), reason="It ended."
    )

    refused(alice_api.post(f"{at}/upgrade", {"force": True}), "upgrades_halted")
    assert not Upgrade.objects.exists()

    operator = Actor("operator", "1", "operator Olga")
    allow_again(operator, halt)
    allow_again(operator, halt)
    event = AuditEvent.objects.get(action="upgrades.allowed")
    assert (event.actor_label, event.target) == ("operator Olga", newer)
    assert alice_api.post(f"{at}/upgrade", {}).status_code == 202


def test_failures_are_counted_since_the_last_that_went_well(up, newer):
    for outcome in (Outcome.ROLLED_BACK, Outcome.KEPT, Outcome.ROLLED_BACK, Outcome.NOT_RUN):
        failed(up, newer, outcome)
    failed(up, newer, Outcome.ROLLBACK_FAILED)
    failed(up, "roost/hermes:other")

    assert failures_in_a_row(newer) == 2


def test_failures_are_counted_since_an_operator_allowed_it(up, newer):
    failed(up, newer)
    halt = Halt.objects.create(
        image=newer, runtime="hermes", version="2", since=now(), reason="It ended."
    )
    allow_again(SYSTEM, halt)
    failed(up, newer)

    assert failures_in_a_row(newer) == 1


# --- going back by hand
def test_going_back_is_a_new_release_with_what_that_one_says(alice_api, at, up, as_alice):
    update_agent(as_alice, up, size="medium", model="claude-x")

    response = alice_api.post(f"{at}/rollback", {"release": 1})

    assert response.status_code == 202
    told = response.json()
    assert told["upgrade"] is None
    assert (told["release"]["number"], told["release"]["cause"]) == (3, "rolled_back")
    assert told["release"]["why"] == "Rolled back to release 1"
    first, _, third = Release.objects.order_by("number")
    assert (third.memory_mb, third.model, third.key) == (first.memory_mb, first.model, first.key)
    up.refresh_from_db()
    assert (up.release, up.settled) == (third, False)
    event = AuditEvent.objects.get(action="agent.rolled_back")
    assert event.data == {"release": 3, "to": 1}


def test_a_disk_stays_as_large_as_it_is_and_says_so(alice_api, at, up, as_alice):
    update_agent(as_alice, up, disk_gib=10, size="medium")

    told = alice_api.post(f"{at}/rollback", {"release": 1}).json()["release"]

    assert (told["disk_gib"], told["size"]) == (10, "small")
    assert "keeps its 10 GiB" in told["why"]


def test_another_image_is_an_upgrade(alice_api, at, up, as_alice):
    Release.objects.update(image="roost/hermes:old", runtime_version="0.18.0")
    upgraded = Release.objects.get()
    upgraded.pk, upgraded.number, upgraded.image = "rel_aaaaaaaaaaaaaaaa", 2, "roost/hermes:new"
    upgraded.save(force_insert=True)
    type(up).objects.update(release=upgraded)

    told = alice_api.post(f"{at}/rollback", {"release": 1}).json()

    assert told["release"] is None
    assert (told["upgrade"]["to_image"], told["upgrade"]["back_to"]) == ("roost/hermes:old", 1)
    assert up.releases.count() == 2


@pytest.mark.parametrize("number", [1, 4])
def test_what_would_change_nothing_is_refused(alice_api, at, up, as_alice, number):
    update_agent(as_alice, up, size="medium")
    update_agent(as_alice, up, size="small")
    update_agent(as_alice, up, size="medium")
    alice_api.post(f"{at}/rollback", {"release": 3})
    before = everything()

    refused(alice_api.post(f"{at}/rollback", {"release": number + (number == 4)}), "same_release")
    assert everything() == before


def test_a_release_that_is_not_there(alice_api, at):
    assert alice_api.post(f"{at}/rollback", {"release": 9}).status_code == 404
    assert alice_api.post(f"{at}/rollback", {"release": 0}).status_code == 422


def test_a_revoked_key_is_not_used_again(alice_api, at, up, as_alice, key):
    other = add_key(as_alice, name="other", provider="anthropic", value="sk-ant-0123456789abcd")
    update_agent(as_alice, up, key=other.pk)
    revoke_key(as_alice, key)
    before = everything()

    said = refused(alice_api.post(f"{at}/rollback", {"release": 1}), "release_not_usable")
    assert f"key {key.name} is revoked" in said
    assert everything() == before


def test_a_revoked_secret_is_not_used_again(alice_api, at, up, as_alice):
    secret = add_secret(as_alice, name="GRAFANA_TOKEN", kind="env", value="tell nobody")
    update_agent(as_alice, up, secrets=[secret.pk])
    update_agent(as_alice, up, secrets=[])
    revoke_secret(as_alice, secret)

    said = refused(alice_api.post(f"{at}/rollback", {"release": 2}), "release_not_usable")
    assert "secret GRAFANA_TOKEN is revoked" in said


def test_limits_hold_for_going_back_too(alice_api, at, up, as_alice, acme):
    update_agent(as_alice, up, size="medium")
    update_agent(as_alice, up, size="small")
    type(acme).objects.update(memory_mb_limit=1024)

    refused(alice_api.post(f"{at}/rollback", {"release": 2}), "memory_limit_reached")


def test_going_back_waits_for_an_upgrade(alice_api, at, up, as_alice, newer):
    update_agent(as_alice, up, size="medium")
    settle(up)
    upgrade_agent(as_alice, up)

    refused(alice_api.post(f"{at}/rollback", {"release": 1}), "agent_at_work")
