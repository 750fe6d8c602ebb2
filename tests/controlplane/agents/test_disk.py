"""How full a workspace is, as the API tells it; and making one larger."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils.timezone import now

from controlplane.agents.actions import update_agent
from controlplane.agents.disk import DENSE, KEPT, WINDOWS, forget_old, percent, slot_of
from controlplane.agents.errors import DiskLimitReached, ImpossibleSetting
from controlplane.agents.models import Agent, DiskSample
from tests.controlplane.looking import everything

pytestmark = pytest.mark.django_db

GIB = 1024**3


def sample(agent, at, used=1) -> DiskSample:
    return DiskSample.objects.create(agent=agent, at=at, used=used, total=100)


def disk(api, agent, window=""):
    query = f"?window={window}" if window else ""
    return api.get(f"/api/v1/orgs/{agent.organisation_id}/agents/{agent.pk}/disk{query}")


def test_an_agent_tells_how_full_it_is(alice_api, agent):
    at = now()
    Agent.objects.update(
        disk_used=4 * GIB, disk_total=5 * GIB, disk_at=at, disk_level="filling",
        quota_enforcement="hard",
    )  # fmt: skip

    told = alice_api.get(f"/api/v1/orgs/{agent.organisation_id}/agents/{agent.pk}").json()["disk"]

    assert datetime.fromisoformat(told.pop("at")) == at
    assert told == {
        "used_bytes": 4 * GIB, "total_bytes": 5 * GIB, "percent": 80, "enforcement": "hard",
        "level": "filling",
    }  # fmt: skip


def test_before_it_was_measured_nothing_is_invented(alice_api, agent):
    told = disk(alice_api, agent).json()

    assert (told["used_bytes"], told["percent"], told["at"]) == (None, None, None)
    assert (told["level"], told["window"], told["samples"]) == ("unknown", "24h", [])


@pytest.mark.parametrize(
    ("used", "total", "said"), [(0, 100, 0), (1, 1000, 1), (999, 1000, 100), (150, 100, 150)]
)
def test_percent_is_rounded_up_as_df_does(used, total, said):
    assert percent(used, total) == said


@pytest.mark.parametrize("window", WINDOWS)
def test_a_graph_is_bounded_and_keeps_the_peak(alice_api, agent, window):
    length, _ = WINDOWS[window]
    newest = slot_of(now())
    count = int(length.total_seconds() // 300)
    step = max(1, count // 2000)
    DiskSample.objects.bulk_create(
        DiskSample(
            agent=agent, at=newest - timedelta(seconds=300 * n), used=99 if n == 5 * step else 1,
            total=100,
        )
        for n in range(0, count + 100, step)
    )  # fmt: skip

    samples = disk(alice_api, agent, window).json()["samples"]

    assert 100 < len(samples) <= 289
    assert max(one["percent"] for one in samples) == 99
    assert [one["at"] for one in samples] == sorted(one["at"] for one in samples)


def test_an_unknown_window_is_refused(alice_api, agent):
    response = disk(alice_api, agent, "1y")

    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "window"


def test_after_two_days_one_sample_an_hour_is_kept_and_none_after_90(agent):
    hour = (now() - DENSE - timedelta(hours=9)).replace(minute=0, second=0, microsecond=0)
    kept = [
        sample(agent, hour),
        sample(agent, hour + timedelta(hours=1, minutes=25)),  # the first of its hour
        sample(agent, slot_of(now() - timedelta(hours=1))),
        sample(agent, slot_of(now() - timedelta(minutes=55))),
    ]
    sample(agent, hour + timedelta(minutes=5))
    sample(agent, hour + timedelta(hours=1, minutes=30))
    sample(agent, slot_of(now() - KEPT - timedelta(hours=1)))

    assert forget_old() == 3
    assert set(DiskSample.objects.all()) == set(kept)
    assert forget_old() == 0


def test_a_slot_begins_at_a_full_five_minutes():
    assert slot_of(datetime(2026, 5, 4, 12, 34, 56, 7, UTC)) == datetime(
        2026, 5, 4, 12, 30, 0, 0, UTC
    )


# --- growing


def test_a_larger_disk_is_the_next_release(as_alice, agent):
    changed = update_agent(as_alice, agent, disk_gib=20)

    assert (changed.release.number, changed.release.disk_gib) == (2, 20)
    assert update_agent(as_alice, agent, name="ranger").release.disk_gib == 20


def test_the_same_disk_is_no_change(as_alice, agent):
    assert update_agent(as_alice, agent, disk_gib=5).release.number == 1


@pytest.mark.parametrize(
    ("gib", "says"), [(1, "can only grow.*has 5 GiB"), (7, "1, 5, 10, 20, 50")]
)
def test_a_smaller_or_odd_disk_is_refused(as_alice, agent, gib, says):
    before = everything()

    with pytest.raises(ImpossibleSetting, match=says) as refused:
        update_agent(as_alice, agent, disk_gib=gib)
    assert refused.value.field == "disk_gib"
    assert everything() == before


def test_growing_counts_against_the_organisation_once(as_alice, agent, acme):
    type(acme).objects.update(disk_gib_limit=20)
    before = everything()

    with pytest.raises(DiskLimitReached):
        update_agent(as_alice, agent, disk_gib=50)
    assert everything() == before
    assert update_agent(as_alice, agent, disk_gib=20).release.disk_gib == 20


def test_the_api_grows_and_refuses_to_shrink(alice_api, agent):
    path = f"/api/v1/orgs/{agent.organisation_id}/agents/{agent.pk}"
    grown = alice_api.patch(path, {"disk_gib": 10}, "json")
    shrunk = alice_api.patch(path, {"disk_gib": 5}, "json")

    assert (grown.status_code, grown.json()["release"]["disk_gib"]) == (200, 10)
    assert (shrunk.status_code, shrunk.json()["code"]) == (422, "impossible_setting")
    assert "create an agent of 5 GiB" in shrunk.json()["detail"]
