"""Drills by plan start when they are due and the agent rests; else they wait."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane.drills.models import Drill, DrillPlan
from provisioner.drills.planned import start_due
from provisioner.models import Turn

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def plan(running) -> DrillPlan:
    due = now() - timedelta(minutes=1)
    return DrillPlan.objects.create(
        agent=running, kind="process", every_days=7, next_at=due, set_by="Alice"
    )


def test_a_due_one_starts_once_and_the_next_is_set(plan):
    assert (start_due(), start_due()) == (1, 0)

    assert Drill.objects.get().requested_by == "the schedule"
    plan.refresh_from_db()
    assert now() + timedelta(days=6) < plan.next_at < now() + timedelta(days=8)


def test_one_that_is_not_due_waits(plan):
    DrillPlan.objects.update(next_at=now() + timedelta(minutes=1))

    assert start_due() == 0


def test_in_a_turn_it_waits_and_stays_due(plan, running):
    Turn.objects.create(agent=running, until=now() + timedelta(seconds=30))

    assert start_due() == 0
    Turn.objects.all().delete()
    assert start_due() == 1


@pytest.mark.parametrize("column", [{"status": "stopped"}, {"goal": "stopped"}, {"node": "other"}])
def test_one_that_does_not_run_here_waits(plan, running, column):
    type(running).objects.update(**column)

    assert start_due() == 0
    assert not Drill.objects.exists()


def test_one_drill_at_a_time(plan, running):
    Drill.objects.create(agent=running, kind="process", requested_by="Alice")

    assert start_due() == 0
    plan.refresh_from_db()
    assert plan.next_at < now()
