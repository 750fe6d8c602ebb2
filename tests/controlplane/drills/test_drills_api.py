"""Asking for drills and planning them over the API."""

import pytest
from django.utils.timezone import now

from controlplane.audit.models import AuditEvent
from controlplane.drills.actions import KEPT, add_drill
from controlplane.drills.models import Drill, DrillPlan

pytestmark = pytest.mark.django_db


@pytest.fixture
def up(agent):
    type(agent).objects.update(status="running", workspace_made_at=now())
    agent.refresh_from_db()
    return agent


@pytest.fixture
def drills(acme, up) -> str:
    return f"/api/v1/orgs/{acme.pk}/agents/{up.pk}/drills"


@pytest.fixture
def plan(acme, up) -> str:
    return f"/api/v1/orgs/{acme.pk}/agents/{up.pk}/drill-plan"


def test_a_drill_is_accepted_and_waits_for_its_node(alice_api, drills, up):
    response = alice_api.post(drills, {"kind": "process"})

    assert response.status_code == 202
    told, row = response.json(), Drill.objects.get()
    assert (told["id"], told["agent"], told["status"]) == (row.pk, up.pk, "pending")
    assert (told["kind"], told["force"], told["verdict"]) == ("process", False, "")
    assert row.pk.startswith("drl_")


def test_who_asked_is_written_down(alice_api, drills, up):
    alice_api.post(drills, {"kind": "reboot", "force": True})

    event = AuditEvent.objects.get(action="agent.drilled")
    assert (event.target, event.data["kind"]) == (up.pk, "reboot")
    assert up.events.get(kind="drill.asked").actor == "token test"


def test_one_at_a_time(alice_api, drills):
    alice_api.post(drills, {"kind": "process"})

    response = alice_api.post(drills, {"kind": "container"})

    assert (response.status_code, response.json()["code"]) == (409, "drill_under_way")
    assert Drill.objects.count() == 1


def test_what_does_not_run_cannot_be_drilled(alice_api, drills, up):
    type(up).objects.update(status="stopped")

    response = alice_api.post(drills, {"kind": "process"})

    assert (response.status_code, response.json()["code"]) == (409, "nothing_to_drill")
    assert not Drill.objects.exists()


@pytest.mark.parametrize("body", [{}, {"kind": "earthquake"}, {"kind": "process", "more": 1}])
def test_nonsense_is_refused(alice_api, drills, body):
    assert alice_api.post(drills, body, "json").status_code == 422
    assert not Drill.objects.exists()


def test_one_is_read_with_its_report_and_the_list_without(alice_api, drills, up):
    made = Drill.objects.create(
        agent=up, kind="process", requested_by="Alice", status="done", report={"format": 1}
    )

    assert alice_api.get(f"{drills}/{made.pk}").json()["report"] == {"format": 1}
    assert "report" not in alice_api.get(drills).json()["items"][0]


def test_the_oldest_are_forgotten_but_not_the_last_that_failed(up):
    failed = Drill.objects.create(
        agent=up, kind="process", requested_by="a", status="done", verdict="failed"
    )
    Drill.objects.bulk_create(
        Drill(agent=up, kind="process", requested_by="a", status="done", verdict="passed")
        for _ in range(KEPT + 5)
    )

    add_drill(up, "process", "Alice")

    assert Drill.objects.count() == KEPT + 1
    assert Drill.objects.filter(pk=failed.pk).exists()


def test_a_plan_is_set_read_changed_and_ended(alice_api, plan):
    none = {"on": False, "kind": "process", "every_days": 7, "next_at": None, "set_by": ""}
    assert alice_api.get(plan).json() == none
    assert alice_api.patch(plan, {}, "json").json() == none

    made = alice_api.patch(plan, {"every_days": 1}, "json")
    alice_api.patch(plan, {"kind": "reboot", "every_days": 7}, "json")

    assert (made.status_code, made.json()["set_by"]) == (200, "token test")
    found = alice_api.get(plan).json()
    assert (found["on"], found["kind"], found["every_days"]) == (True, "reboot", 7)
    assert alice_api.patch(plan, {"on": True}, "json").json() == found
    assert alice_api.patch(plan, {"on": False}, "json").json() == none
    assert alice_api.patch(plan, {"on": False}, "json").status_code == 200
    assert not DrillPlan.objects.exists()
    actions = AuditEvent.objects.values_list("action", flat=True)
    assert sorted(a for a in actions if "drills" in a) == [
        "agent.drills_planned", "agent.drills_planned", "agent.drills_unplanned",
    ]  # fmt: skip


@pytest.mark.parametrize("days", [0, -1, 91, "often"])
def test_a_plan_of_no_sense_is_refused(alice_api, plan, days):
    response = alice_api.patch(plan, {"kind": "process", "every_days": days}, "json")

    assert response.status_code == 422
    assert not DrillPlan.objects.exists()
