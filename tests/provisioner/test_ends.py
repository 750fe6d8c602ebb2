"""How often a container ended, told from two looks at it."""

from dataclasses import replace

import pytest

from provisioner.engines.base import Container
from provisioner.look import count_ends

UP = Container(
    id="c0ffee000001",
    name="roost-a",
    agent_id="a",
    release=1,
    restart=0,
    state="running",
    started_at="t1",
)
WAITS = replace(UP, state="restarting", restart_count=1, exit_code=137)
BACK = replace(UP, started_at="t2", restart_count=1)
EXITED = replace(UP, state="exited", exit_code=137)
BY_HAND = replace(UP, started_at="t2")


@pytest.mark.parametrize(
    ("before", "after", "ends"),
    [
        (UP, UP, 0),
        (UP, WAITS, 1),
        (UP, BACK, 1),
        (UP, EXITED, 1),
        (UP, BY_HAND, 1),
        (WAITS, WAITS, 0),
        (WAITS, BACK, 0),
        (EXITED, BY_HAND, 0),
        (WAITS, replace(BACK, restart_count=3), 2),
        (BACK, replace(BACK, id="c0ffee000002"), 0),
    ],
)
def test_each_end_is_counted_once(before, after, ends):
    assert count_ends(before.life, after) == ends


def test_nothing_is_counted_where_nothing_was_seen_before():
    assert count_ends("", WAITS) == 0
    assert count_ends(UP.life, None) == 0
