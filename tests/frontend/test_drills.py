"""The page of an agent's recovery drills, the badge on its front page and the alarm on all."""

import pytest
from django.utils.timezone import now

from controlplane.drills.models import Drill, DrillPlan
from provisioner.drills.alarm import DRILL

PAGE = "/acme/agents/heron/drills"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def up(agent):
    type(agent).objects.update(status="running", workspace_made_at=now())
    return agent


def made(agent, **columns) -> Drill:
    return Drill.objects.create(
        **{"agent": agent, "kind": "process", "requested_by": "Alice"} | columns
    )


def passed(agent, **columns) -> Drill:
    return made(
        agent,
        **{
            "status": "done", "verdict": "passed", "recovery_ms": 2140, "baseline_ms": 3000,
            "files_compared": 12, "files_equal": 12, "bytes_compared": 3 * 1024**3,
            "conversation_reachable": True, "answered": True, "killed_at": now(),
            "recovered_at": now(), "finished_at": now(),
            "report": {"messages_before": 4, "messages_after": 4, "files_passed_over": 3},
        } | columns,
    )  # fmt: skip


def failed(agent, **columns) -> Drill:
    lost = {"path": "<b>work.txt", "what": "missing"}
    return passed(
        agent, verdict="failed", files_equal=11, differences=[lost], message="It is lost.",
        **columns,
    )  # fmt: skip


def text(response) -> str:
    return response.content.decode()


def test_before_the_first_the_page_teaches_and_offers_one(alice_web, up):
    shown = text(alice_web.get(PAGE))

    assert "Not drilled yet" in shown
    assert "kill -9, without warning" in shown
    assert 'name="kind" value="engine"' not in shown


def test_a_button_starts_one_and_leads_to_it(alice_web, up):
    response = alice_web.post(PAGE, {"kind": "reboot", "force": "on"})

    drill = Drill.objects.get()
    assert (response.status_code, response["Location"]) == (303, f"{PAGE}/{drill.pk}")
    assert (drill.kind, drill.force, drill.requested_by) == ("reboot", True, "Alice")


def test_what_cannot_be_drilled_says_why(alice_web, agent):
    response = alice_web.post(PAGE, {"kind": "process"}, follow=True)

    assert "is not running" in text(response)
    assert not Drill.objects.exists()


def test_while_it_runs_the_page_asks_again_and_offers_no_second(alice_web, up):
    drill = made(up, status="running", step="recovering", baseline_ms=3000)

    shown = text(alice_web.get(f"{PAGE}/{drill.pk}"))

    assert f'hx-get="{PAGE}/{drill.pk}" hx-trigger="every 1s"' in shown
    assert "<h2>Coming back</h2>" in shown
    assert "usually takes 3.0 s" in shown
    assert "Run the drill</button>" not in shown


def test_once_done_it_asks_no_more_and_gives_its_figures(alice_web, up):
    drill = passed(up)

    part = text(alice_web.get(f"{PAGE}/{drill.pk}", headers=HTMX))

    assert part.strip().startswith('<div id="drill">')
    assert "Survived: back after 2.1 s" in part
    assert "of 12 · 3.0 GiB" in part
    assert "4 of 4 messages" in part


def test_what_was_lost_is_named_and_escaped(alice_web, up):
    failed(up)

    shown = text(alice_web.get(PAGE))

    assert "&lt;b&gt;work.txt" in shown
    assert "It is lost." in shown


def test_one_without_a_verdict_says_why(alice_web, up):
    made(up, status="failed", verdict="not_run", message="It is in the middle of a turn.")

    assert "It is in the middle of a turn." in text(alice_web.get(PAGE))


@pytest.mark.parametrize("columns", [{"status": "failed"}, {"status": "pending"}])
def test_one_that_came_to_nothing_is_shown(alice_web, up, columns):
    """Given up by the sweep: nobody wrote a verdict."""
    made(up, message="The process ended.", **columns)

    assert alice_web.get(PAGE).status_code == 200


def test_the_history_leads_to_older_ones(alice_web, up):
    older = failed(up)
    passed(up)

    assert f'href="{PAGE}/{older.pk}">' in text(alice_web.get(PAGE))


def test_the_badge_is_on_the_front_page(alice_web, up):
    passed(up)
    made(up, status="failed", verdict="not_run")

    shown = text(alice_web.get("/acme/agents/heron"))

    assert "Survived its last drill" in shown
    assert 'back after <b class="num">2.1 s</b>' in shown


def test_without_a_drill_there_is_no_badge(alice_web, up):
    assert "its last drill" not in text(alice_web.get("/acme/agents/heron"))


@pytest.mark.parametrize("tab", ["", "/logs", "/settings"])
def test_an_alarm_is_on_the_pages_of_the_agent(alice_web, up, tab):
    up.conditions.create(type=DRILL, status=False, message="<i>a.txt: missing", since=now())

    shown = text(alice_web.get(f"/acme/agents/heron{tab}"))

    assert "did not survive its last recovery drill" in shown
    assert "&lt;i&gt;a.txt: missing" in shown


def test_a_plan_is_saved_and_ended(alice_web, up):
    alice_web.post(f"{PAGE}/plan", {"every_days": "7", "kind": "reboot"})

    assert (DrillPlan.objects.get().every_days, DrillPlan.objects.get().kind) == (7, "reboot")
    assert "every 7 days" in text(alice_web.get(PAGE))
    alice_web.post(f"{PAGE}/plan", {"every_days": "0", "kind": "reboot"})
    assert not DrillPlan.objects.exists()


@pytest.mark.parametrize("days", ["", "x", "1000", "91", "²"])
def test_a_plan_of_no_sense_is_refused(alice_web, up, days):
    alice_web.post(f"{PAGE}/plan", {"every_days": days, "kind": "process"})

    assert not DrillPlan.objects.exists()


def test_a_viewer_reads_and_does_not_start(bob_web, up):
    passed(up)

    shown = text(bob_web.get(PAGE))

    assert "Run the drill</button>" not in shown
    assert bob_web.post(PAGE, {"kind": "process"}).status_code == 403
    assert bob_web.post(f"{PAGE}/plan", {"every_days": "7", "kind": "process"}).status_code == 403
    assert Drill.objects.count() == 1


@pytest.mark.parametrize("below", ["", "/{drill}"])
def test_a_stranger_finds_nothing(charlie_web, acme, up, below):
    drill = passed(up)

    assert charlie_web.get(PAGE + below.format(drill=drill.pk)).status_code == 404
    assert charlie_web.post(PAGE, {"kind": "process"}).status_code == 404
    assert Drill.objects.count() == 1
