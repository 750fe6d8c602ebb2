"""When snapshots are taken by themselves: the panel, and the form behind it."""

from datetime import UTC, datetime, time

import pytest
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.snapshots.models import SnapshotPlan
from frontend.schedules import Rhythm, cron_of, known_places, rhythm_of, schedule_of

PAGE = "/acme/agents/heron/snapshots"
WISH = {
    "on": "on", "rhythm": "daily", "at": "03:05", "timezone": "Europe/Berlin",
    "keep_last": "2", "keep_daily": "5", "keep_weekly": "0",
}  # fmt: skip


@pytest.fixture
def made(agent):
    Agent.objects.filter(pk=agent.pk).update(workspace_made_at=now())
    return agent


def text(response) -> str:
    return " ".join(response.content.decode().split())


def plan(**changes) -> SnapshotPlan:
    return SnapshotPlan(**{"cron": "37 2 * * *"} | changes)


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("37 2 * * *", "Daily at 02:37 UTC"),
        ("0 14 * * 3", "Wednesdays at 14:00 UTC"),
        ("30 2 * * 1-5", "At 02:30 on Monday through Friday, UTC"),
    ],
)
def test_a_time_is_told_in_words(cron, words):
    assert schedule_of(plan(cron=cron), now()).when == words


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ({}, "keeps the last 3, 7 daily, 4 weekly"),
        ({"keep_last": 0, "keep_weekly": 0}, "keeps 7 daily"),
    ],
)
def test_only_what_is_kept_is_told(kept, words):
    assert schedule_of(plan(**kept), now()).keeps == words


def test_the_next_is_told_in_the_plans_own_time_zone():
    moment = datetime(2026, 7, 1, 12, tzinfo=UTC)

    shown = schedule_of(plan(timezone="Europe/Berlin"), moment)

    assert shown.next == "2 Jul, 02:37"
    assert shown.next_at == datetime(2026, 7, 2, 0, 37, tzinfo=UTC)
    assert schedule_of(plan(on=False), moment).next_at is None


@pytest.mark.parametrize(
    ("cron", "rhythm"),
    [
        ("5 3 * * *", Rhythm("daily", time(3, 5))),
        ("0 0 * * 0", Rhythm("weekly", time(0, 0), "0")),
        ("0 */6 * * *", Rhythm("custom", cron="0 */6 * * *")),
        ("75 3 * * *", Rhythm("custom", cron="75 3 * * *")),
    ],
)
def test_cron_is_chosen_as_people_do_and_back(cron, rhythm):
    assert rhythm_of(cron) == rhythm
    assert cron_of(rhythm) == cron


def test_places_are_offered():
    assert {"UTC", "Europe/Berlin"} <= set(known_places())
    assert "Etc/GMT+5" not in known_places()


def test_the_panel_has_the_plan_of_every_agent(alice_web, made):
    shown = text(alice_web.get(PAGE))

    assert "Daily at 0" in shown
    assert "keeps the last 3, 7 daily, 4 weekly; next" in shown
    assert f'href="{PAGE}/plan"' in shown


def test_without_a_workspace_it_begins_later(alice_web, agent):
    assert "begins once heron has a workspace" in text(alice_web.get(PAGE))


def test_a_viewer_sees_it_and_why_not_to_change_it(bob_web, made):
    shown = text(bob_web.get(PAGE))

    assert "keeps the last 3" in shown
    assert f'href="{PAGE}/plan"' not in shown
    assert "Your role, viewer, may look but not change the schedule" in shown


@pytest.mark.parametrize(
    ("changes", "cron"),
    [
        ({}, "5 3 * * *"),
        ({"rhythm": "weekly", "weekday": "1"}, "5 3 * * 1"),
        ({"rhythm": "custom", "cron": "0 */6 * * *"}, "0 */6 * * *"),
    ],
)
def test_it_is_changed(alice_web, made, changes, cron):
    response = alice_web.post(f"{PAGE}/plan", WISH | changes)

    assert (response.status_code, response["Location"]) == (303, PAGE)
    stored = SnapshotPlan.objects.get()
    assert (stored.on, stored.cron, stored.timezone) == (True, cron, "Europe/Berlin")
    assert (stored.keep_last, stored.keep_daily, stored.keep_weekly) == (2, 5, 0)


def test_it_is_turned_off(alice_web, made):
    alice_web.post(f"{PAGE}/plan", {name: WISH[name] for name in WISH if name != "on"})

    assert not SnapshotPlan.objects.get().on
    assert "Off: none is taken" in text(alice_web.get(PAGE))


def test_the_form_has_what_is_chosen(alice_web, made):
    alice_web.post(f"{PAGE}/plan", WISH | {"rhythm": "weekly", "weekday": "5"})

    shown = text(alice_web.get(f"{PAGE}/plan"))

    assert '<option value="weekly" selected>' in shown
    assert '<option value="5" selected>Friday' in shown
    assert 'value="03:05"' in shown


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"at": ""}, "at", "Write a time of day"),
        ({"rhythm": "weekly", "weekday": ""}, "weekday", "Choose a day."),
        ({"rhythm": "custom", "cron": "often"}, "cron", "Write minute, hour, day"),
        ({"rhythm": "custom", "cron": ""}, "cron", "Write minute, hour, day"),
        ({"rhythm": "custom", "cron": "*/5 * * * *"}, "cron", "An hour must lie between"),
        ({"timezone": "Mars/North"}, "timezone", "There is no time zone"),
        ({"keep_last": "101"}, "keep_last", "Between 0 and 100 can be kept."),
        ({"keep_daily": "-1"}, "keep_daily", "Between 0 and 100 can be kept."),
        ({"keep_weekly": "few"}, "keep_weekly", "Write a number between 0 and 100."),
        ({"keep_last": "0", "keep_daily": "0"}, "keep_last", "At least one must be kept"),
    ],
)
def test_what_cannot_be_is_told_at_its_field(alice_web, made, changes, field, words):
    response = alice_web.post(f"{PAGE}/plan", WISH | changes)

    assert response.status_code == 422
    assert words in text(response).partition(f'id="id_{field}_error"')[2]
    assert not SnapshotPlan.objects.exists()
