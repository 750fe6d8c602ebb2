"""Counting how often an agent ended, and what that takes from its restart budget."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from provisioner.engines.base import Container, LogLine
from provisioner.look import LIGHT, QUIET_S, count_ends, look, recent, spent, weigh
from provisioner.plan import CRASH_WINDOW


def box(started: str = "t1", *, restarts: int = 0, state: str = "running", **changes) -> Container:
    kept = {"id": "c" * 12, "name": "roost-agt", "agent_id": "agt", "release": 1, "restart": 0}
    return Container(**{**kept, **changes}, state=state, started_at=started, restart_count=restarts)


UP = box()
DOWN = box(state="exited")


@pytest.mark.parametrize(
    ("before", "after", "ends"),
    [
        ("", UP, 0),  # we changed it ourselves, or see it for the first time
        (UP.life, None, 0),  # gone altogether: that is told apart
        (UP.life, UP, 0),
        (UP.life, box("t1", id="d" * 12), 0),  # another container: we made it
        (UP.life, DOWN, 1),
        (UP.life, box("t2", restarts=1), 1),  # the engine started it again
        (UP.life, box("t4", restarts=3), 3),
        (UP.life, box("t4", restarts=3, state="restarting"), 3),
        (UP.life, box("t4", restarts=3, state="exited"), 4),
        (UP.life, box("t2"), 1),  # ended and was started by hand: the count began anew
        (DOWN.life, DOWN, 0),
        (DOWN.life, box("t2"), 0),  # its end was counted when it was seen down
        (box("t4", restarts=3).life, box("t4", restarts=3), 0),
        (box("t4", restarts=3).life, box("t5", restarts=4), 1),
        (box("t4", restarts=3).life, box("t5"), 1),
        (box("t4", restarts=3, state="restarting").life, box("t5", restarts=3), 0),
        (UP.life, box(state="paused"), 0),
    ],
)
def test_ends_are_counted_once(before, after, ends):
    assert count_ends(before, after) == ends


def test_a_life_has_the_shape_that_counting_reads():
    assert UP.life.count(" ") == DOWN.life.count(" ") == 2
    assert len(box(id="e" * 64, started="2026-11-30T07:12:56.123456789Z").life) <= 80


@pytest.mark.parametrize(
    ("ends", "container", "was_ready", "weight"),
    [
        (0, UP, True, 0),
        (0, None, False, 0),
        (1, UP, True, LIGHT),  # it had been well: that says little
        (1, UP, False, 1),  # it did not come up
        (1, box(out_of_memory=True), True, 1),
        (3, UP, True, LIGHT + 2),  # well once, then not any more
        (3, UP, False, 3),
    ],
)
def test_what_an_end_takes_from_the_budget(ends, container, was_ready, weight):
    assert weigh(ends, container, was_ready) == pytest.approx(weight)


def test_the_budget_forgets_what_is_older_than_its_window():
    old = (now() - timedelta(seconds=CRASH_WINDOW + 1)).isoformat()
    young = (now() - timedelta(seconds=CRASH_WINDOW - 60)).isoformat()

    kept = recent([(old, 1), (young, 0.2)], 1)

    assert kept[0] == (young, 0.2)
    assert len(kept) == 2
    assert spent(kept) == pytest.approx(1.2)


def test_nothing_new_adds_nothing():
    assert recent([], 0) == []


def test_the_budget_does_not_grow_without_end():
    crashes = []
    for _ in range(200):
        crashes = recent(crashes, 1)

    assert len(crashes) == 50


@pytest.fixture
def moved(running, engine, container):
    """An agent whose first boot of another version is past its deadline, 10 s ago."""
    release = running.release
    release.cause, release.number = "upgraded", 2
    running.deadline_at = now() - timedelta(seconds=10)
    return running


def said(engine, container, seconds_ago):
    at = (now() - timedelta(seconds=seconds_ago)).isoformat().replace("+00:00", "000Z")
    engine.said[container] = [LogLine(at, "migrating")]


@pytest.mark.django_db
def test_a_migration_that_speaks_is_given_more_time(moved, backend, engine, container):
    """R14"""
    said(engine, container, seconds_ago=5)

    assert not look(backend, moved).seen.overdue


@pytest.mark.django_db
@pytest.mark.parametrize(
    "change",
    [
        lambda agent: setattr(agent.release, "cause", "changed"),
        lambda agent: setattr(agent, "observed_release", 2),  # it ran already
        lambda agent: setattr(agent, "deadline_at", now() - timedelta(hours=1)),
    ],
    ids=["no-move", "not-the-first-boot", "far-too-long"],
)
def test_others_are_not(moved, backend, engine, container, change):
    said(engine, container, seconds_ago=5)
    change(moved)

    assert look(backend, moved).seen.overdue


@pytest.mark.django_db
@pytest.mark.parametrize("ago", [QUIET_S + 5, None])
def test_one_that_is_silent_is_not(moved, backend, engine, container, ago):
    if ago is not None:
        said(engine, container, ago)

    assert look(backend, moved).seen.overdue
