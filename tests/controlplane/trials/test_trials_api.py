"""Asking for trial restores over the API, and what one tries."""

import pytest
from django.core.checks import run_checks
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.audit.models import AuditEvent
from controlplane.snapshots.models import Snapshot
from controlplane.trials.actions import KEPT, triable
from controlplane.trials.models import TrialRestore

pytestmark = pytest.mark.django_db


@pytest.fixture
def shipped(snapshot) -> Snapshot:
    snapshot.verified_at, snapshot.offsite_id = now(), "b" * 64
    snapshot.save()
    return snapshot


@pytest.fixture
def trials(acme) -> str:
    return f"/api/v1/orgs/{acme.pk}/trial-restores"


def test_one_is_accepted_and_waits_for_its_node(alice_api, trials, shipped, agent):
    response = alice_api.post(trials, {})

    assert response.status_code == 202
    told, row = response.json(), TrialRestore.objects.get()
    assert (told["id"], told["status"], told["outcome"]) == (row.pk, "pending", "")
    assert (told["agent"], told["snapshot"]) == (agent.pk, shipped.pk)
    assert alice_api.get(f"{trials}/{row.pk}").json() == told
    assert alice_api.get(trials).json()["items"] == [told]
    event = AuditEvent.objects.get(action="organisation.trial_restore")
    assert (event.target, event.data["snapshot"]) == (row.pk, shipped.pk)


def test_one_at_a_time(alice_api, trials, shipped):
    alice_api.post(trials, {})

    response = alice_api.post(trials, {})

    assert (response.status_code, response.json()["code"]) == (409, "trial_restore_under_way")
    assert TrialRestore.objects.count() == 1


@pytest.mark.parametrize(
    "column",
    [{"verified_at": None}, {"offsite_id": ""}, {"deleted_at": now()}, {"manifest_sha256": ""}],
)
def test_without_a_good_copy_offsite_there_is_nothing_to_try(alice_api, trials, shipped, column):
    Snapshot.objects.update(**column)

    response = alice_api.post(trials, {})

    assert (response.status_code, response.json()["code"]) == (409, "nothing_to_try")
    assert not TrialRestore.objects.exists()


def test_nothing_of_another_organisation_is_tried(alice_api, trials, shipped, umbrella):
    Agent.objects.update(organisation=umbrella)

    assert alice_api.post(trials, {}).json()["code"] == "nothing_to_try"


def test_nothing_can_be_chosen(alice_api, trials, shipped):
    assert alice_api.post(trials, {"snapshot": shipped.pk}, "json").status_code == 422
    assert not TrialRestore.objects.exists()


def test_results_outlive_the_deletion_of_the_agent(alice_api, trials, trial):
    Agent.objects.update(goal="deleted")

    assert [row["id"] for row in alice_api.get(trials).json()["items"]] == [trial.pk]


def test_the_oldest_are_forgotten_but_not_the_last_that_failed(alice_api, trials, shipped, acme):
    columns = {"organisation": acme, "agent": shipped.agent, "snapshot": shipped}
    columns |= {"requested_by": "a", "status": "done"}
    failed = TrialRestore.objects.create(**columns, outcome="differs")
    TrialRestore.objects.bulk_create(
        TrialRestore(**columns, outcome="equal") for _ in range(KEPT + 5)
    )

    alice_api.post(trials, {})

    assert TrialRestore.objects.count() == KEPT + 1
    assert TrialRestore.objects.filter(pk=failed.pk).exists()


def test_any_good_copy_may_be_chosen(acme, shipped):
    other = Snapshot.objects.get()
    other.pk, other.offsite_id = "snp_bbbbbbbbbbbbbbbb", "c" * 64
    other.save(force_insert=True)

    assert {one.pk for one in triable(acme)} == {shipped.pk, other.pk}


@pytest.mark.parametrize(
    ("setting", "value", "found"),
    [
        ("ROOST_TRIAL_RESTORES", "every sunday", "trials.E002"),
        ("ROOST_TRIAL_RESTORES", "0 0 31 2 *", "trials.E002"),
        ("ROOST_TRIAL_RESTORES_TIMEZONE", "Berlin", "trials.E001"),
    ],
)
def test_a_plan_of_no_sense_is_told_at_the_start(settings, setting, value, found):
    setattr(settings, setting, value)

    assert found in [one.id for one in run_checks()]


def test_no_plan_is_a_plan(settings):
    settings.ROOST_TRIAL_RESTORES = ""

    assert [one.id for one in run_checks() if one.id.startswith("trials")] == []
