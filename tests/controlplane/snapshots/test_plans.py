"""When snapshots are taken by themselves, in people's own time, and which of them are kept."""

from datetime import UTC, datetime, timedelta

import pytest

from controlplane.snapshots.models import Snapshot, SnapshotPlan
from controlplane.snapshots.plans import default_plan, expired, next_after

pytestmark = pytest.mark.django_db

GOOD = {
    "on": True, "cron": "30 2 * * *", "timezone": "Europe/Berlin",
    "keep_last": 2, "keep_daily": 3, "keep_weekly": 2,
}  # fmt: skip


@pytest.fixture
def url(acme, agent) -> str:
    return f"/api/v1/orgs/{acme.pk}/agents/{agent.pk}/snapshot-plan"


def at(*moment: int) -> datetime:
    return datetime(*moment, tzinfo=UTC)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (at(2026, 3, 28, 12), at(2026, 3, 29, 1)),  # 02:30 does not exist that night: 03:00
        (at(2026, 3, 29, 12), at(2026, 3, 30, 0, 30)),
        (at(2026, 10, 24, 12), at(2026, 10, 25, 0, 30)),  # 02:30 comes twice: once
        (at(2026, 10, 25, 0, 30), at(2026, 10, 26, 1, 30)),
        (at(2026, 7, 1, 12), at(2026, 7, 2, 0, 30)),
    ],
)
def test_nights_on_which_clocks_change(after, expected):
    plan = SnapshotPlan(cron="30 2 * * *", timezone="Europe/Berlin")

    assert next_after(plan, after) == expected


def test_everybody_has_a_plan_and_not_all_at_the_same_minute(agent):
    agents = [type(agent)(pk=f"agt_{number}") for number in range(50)]
    crons = {default_plan(one).cron for one in agents}

    assert len(crons) > 30
    assert default_plan(agents[0]).cron == default_plan(agents[0]).cron


def test_it_is_shown_and_set(alice_api, url, agent):
    assert alice_api.get(url).json()["keep_daily"] == 7

    assert alice_api.patch(url, GOOD, "json").status_code == 200
    assert alice_api.get(url).json() == GOOD | {"next_at": None}
    assert SnapshotPlan.objects.get().agent == agent


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"cron": "* * * * *"}, "cron"),
        ({"cron": "*/30 * * * *"}, "cron"),
        ({"cron": "0,59 * * * *"}, "cron"),
        ({"cron": "not cron"}, "cron"),
        ({"cron": "61 2 * * *"}, "cron"),
        ({"cron": "0 0 30 2 *"}, "cron"),
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"timezone": "../../etc/passwd"}, "timezone"),
        ({"keep_last": 0, "keep_daily": 0, "keep_weekly": 0}, "keep_last"),
        ({"keep_daily": 101}, "keep_daily"),
        ({"keep_weekly": -1}, "keep_weekly"),
    ],
)
def test_what_cannot_be_is_refused(alice_api, url, change, field):
    response = alice_api.patch(url, GOOD | change, "json")

    assert response.status_code == 422, response.json()
    assert field in str(response.json())
    assert not SnapshotPlan.objects.exists()


def rows(agent, *, origin: str, hours: list[int], now: datetime) -> list[Snapshot]:
    return [
        Snapshot(agent=agent, origin=origin, created_at=now - timedelta(hours=ago), note=str(ago))
        for ago in hours
    ]


def test_the_last_the_daily_and_the_weekly_are_kept(agent):
    moment = at(2026, 11, 30, 12)  # a Monday
    plan = SnapshotPlan(
        agent=agent, timezone="UTC", cron="0 * * * *", keep_last=2, keep_daily=3, keep_weekly=2
    )
    taken = rows(agent, origin="scheduled", hours=[1, 2, 3, 24, 25, 48, 72, 96, 24 * 9], now=moment)

    gone = {row.note for row in expired(plan, taken, moment)}

    kept = {row.note for row in taken} - gone
    # 1 and 2 are the last; 1, 24, 48 the newest of their days; 1 and 24 of their weeks.
    assert kept == {"1", "2", "24", "48"}


def test_what_people_took_is_theirs_and_what_we_took_goes_after_a_week(agent):
    moment = at(2026, 11, 30, 12)
    plan = default_plan(agent)
    by_hand = rows(agent, origin="manual", hours=[24 * 400], now=moment)
    ours = rows(agent, origin="before_restore", hours=[24 * 6, 24 * 8], now=moment)

    assert [row.note for row in expired(plan, by_hand + ours, moment)] == [str(24 * 8)]
