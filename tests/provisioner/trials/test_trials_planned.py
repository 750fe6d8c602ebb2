"""Trial restores by plan: weekly, spread over organisations, once however late."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils.timezone import now

from controlplane.tenants.models import Organisation
from controlplane.trials import plans
from controlplane.trials.models import TrialPlan, TrialRestore
from provisioner.trials.planned import plan_all, start_due

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def due(acme, shipped):
    shipped()
    plan_all()
    TrialPlan.objects.update(next_at=now() - timedelta(days=20))


def test_an_organisation_with_something_offsite_has_a_time(acme, umbrella, shipped):
    plan_all()
    assert not TrialPlan.objects.exists()

    shipped()
    plan_all()

    plan = TrialPlan.objects.get()
    assert plan.organisation == acme
    assert now() < plan.next_at < now() + timedelta(days=7, hours=4)


def test_a_due_one_is_run_once_however_late(due):
    assert (start_due(), start_due()) == (1, 0)

    assert TrialRestore.objects.get().requested_by == "the plan"
    assert TrialPlan.objects.get().next_at > now()


def test_one_under_way_is_not_run_beside_another(due):
    start_due()
    TrialPlan.objects.update(next_at=now())

    assert start_due() == 0
    assert TrialRestore.objects.count() == 1


def test_another_setting_is_another_time(acme, shipped, settings):
    shipped()
    plan_all()
    before = TrialPlan.objects.get().rule

    settings.ROOST_TRIAL_RESTORES = "0 4 1 * *"
    plan_all()

    assert TrialPlan.objects.get().rule != before


def test_without_a_setting_none_is_run(due, settings):
    settings.ROOST_TRIAL_RESTORES = ""
    plan_all()

    assert start_due() == 0


def test_times_keep_the_operators_clock_over_a_change_of_clocks(settings):
    settings.ROOST_TRIAL_RESTORES = "0 3 * * 0"
    settings.ROOST_TRIAL_RESTORES_TIMEZONE = "Europe/Berlin"
    acme = Organisation(pk="org_aaaaaaaaaaaaaaaa")
    moment, times = datetime(2026, 3, 1, tzinfo=UTC), []
    for _ in range(6):
        moment = plans.next_after(acme, moment)
        times.append(moment.astimezone(ZoneInfo("Europe/Berlin")))

    assert {one.weekday() for one in times} == {6}
    assert len({(one.hour, one.minute) for one in times}) == 1


def test_organisations_do_not_all_begin_at_once():
    moment = datetime(2026, 3, 1, 12, tzinfo=UTC)
    found = {plans.next_after(Organisation(pk=f"org_{number:016}"), moment) for number in range(50)}

    assert len(found) > 20
    assert max(found) - min(found) < plans.SPREAD
