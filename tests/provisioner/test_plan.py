"""The lifecycle as a table, and that every sequence of wishes and observations settles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.agents.lifecycle import DEADLINES, ENDS, Goal, Status
from provisioner.engines.base import Container
from provisioner.plan import CRASH_BUDGET, Decision, Seen, Step, Wish, decide

RUN = Wish(Goal.RUNNING, release=2, restart=1, changed=False)


def box(state: str = "running", **changes) -> Container:
    kept = {"id": "c1", "name": "roost-agt", "agent_id": "agt", "release": 2, "restart": 1}
    return Container(**{**kept, "state": state, **changes})


def wish(goal: Goal, **changes) -> Wish:
    return Wish(**{"goal": goal, "release": 2, "restart": 1, "changed": False, **changes})


@pytest.mark.parametrize(
    ("wished", "seen", "status", "step"),
    [
        (RUN, Seen(None), Status.STARTING, Step.CREATE),
        (RUN, Seen(None, ever_ready=True), Status.RESTARTING, Step.CREATE),
        (RUN, Seen(box(), healthy=True), Status.RUNNING, Step.NONE),
        (RUN, Seen(box()), Status.STARTING, Step.WAIT),
        (RUN, Seen(box(), was_ready=True, ever_ready=True), Status.DEGRADED, Step.NONE),
        (RUN, Seen(box(release=1)), Status.STARTING, Step.REPLACE),
        (RUN, Seen(box(restart=0), healthy=True), Status.STARTING, Step.REPLACE),
        (RUN, Seen(box("exited")), Status.STARTING, Step.START),
        (RUN, Seen(box("paused")), Status.STARTING, Step.START),
        (RUN, Seen(box("restarting")), Status.STARTING, Step.WAIT),
        (RUN, Seen(box("restarting", exit_code=78)), Status.STARTING, Step.NUDGE),
        (RUN, Seen(box("restarting", exit_code=64)), Status.FAILED, Step.STOP),
        (RUN, Seen(box("exited", exit_code=64)), Status.FAILED, Step.NONE),
        (RUN, Seen(box(), healthy=True, set_up=False), Status.STARTING, Step.SET_UP),
        (RUN, Seen(box(), set_up=False), Status.STARTING, Step.WAIT),
        (RUN, Seen(box(), crashes=CRASH_BUDGET), Status.CRASH_LOOPING, Step.STOP),
        (RUN, Seen(box(), status=Status.STARTING, overdue=True), Status.FAILED, Step.STOP),
        (RUN, Seen(box(), status=Status.FAILED), Status.FAILED, Step.STOP),
        (RUN, Seen(box("exited"), status=Status.CRASH_LOOPING), Status.CRASH_LOOPING, Step.NONE),
        (wish(Goal.STOPPED), Seen(box()), Status.STOPPING, Step.STOP),
        (wish(Goal.STOPPED), Seen(box("exited")), Status.STOPPED, Step.NONE),
        (wish(Goal.STOPPED), Seen(box("exited"), held=True), Status.STOPPING, Step.STOP),
        (wish(Goal.STOPPED), Seen(None), Status.STOPPED, Step.NONE),
        (wish(Goal.SUSPENDED), Seen(box("exited")), Status.SUSPENDED, Step.NONE),
        (RUN, Seen(box(), healthy=True, swap=True), Status.STARTING, Step.SWAP),
        (RUN, Seen(None, swap=True), Status.STARTING, Step.SWAP),
        (wish(Goal.STOPPED), Seen(box("exited"), swap=True), Status.STOPPING, Step.SWAP),
        (wish(Goal.STOPPED), Seen(box(), swap=True), Status.STOPPING, Step.STOP),
        (wish(Goal.DELETED), Seen(None, swap=True), Status.DELETED, Step.NONE),
        (wish(Goal.DELETED), Seen(box()), Status.DELETING, Step.REMOVE),
        (wish(Goal.DELETED), Seen(None, held=True), Status.DELETING, Step.REMOVE),
        (wish(Goal.DELETED), Seen(None), Status.DELETED, Step.NONE),
    ],
)
def test_the_table(wished, seen, status, step):
    decision = decide(wished, seen)

    assert (decision.status, decision.step) == (status, step)


def test_a_new_wish_gives_a_failed_agent_another_chance():
    seen = Seen(box("exited"), status=Status.FAILED, overdue=True)

    assert decide(wish(Goal.RUNNING, changed=True), seen).step is Step.START


containers = st.one_of(
    st.none(),
    st.builds(
        box,
        st.sampled_from(["created", "running", "restarting", "paused", "exited", "dead"]),
        release=st.integers(1, 2),
        restart=st.integers(0, 1),
        exit_code=st.sampled_from([0, 1, 64, 78, 137]),
    ),
)
wishes = st.builds(wish, st.sampled_from(Goal), changed=st.booleans())
sights = st.builds(
    Seen,
    container=containers,
    healthy=st.booleans(),
    was_ready=st.booleans(),
    ever_ready=st.booleans(),
    crashes=st.integers(0, CRASH_BUDGET + 1),
    status=st.sampled_from(Status),
    overdue=st.booleans(),
    held=st.booleans(),
    keyed=st.booleans(),
    swap=st.booleans(),
    set_up=st.booleans(),
)


@given(wishes, sights)
def test_a_settled_decision_does_nothing_and_an_acting_one_is_under_way_or_given_up(wished, seen):
    decision = decide(wished, seen)

    if decision.step is Step.NONE:
        assert decision.status in ENDS[wished.goal] | {Status.DEGRADED}
    else:
        given_up = {Status.FAILED, Status.CRASH_LOOPING}
        assert decision.status in DEADLINES.keys() | given_up


@given(wishes, sights)
def test_nothing_under_way_outlives_its_deadline(wished, seen):
    decision = decide(wished, seen)

    stays = decision.status == seen.status and decision.status in DEADLINES
    if seen.overdue and stays and not wished.changed:
        raise AssertionError(f"{decision.status} goes on past its deadline")


@given(wishes, sights)
def test_what_should_not_run_is_never_started(wished, seen):
    starts = {Step.CREATE, Step.START, Step.NUDGE, Step.REPLACE}

    if wished.goal != Goal.RUNNING or seen.crashes >= CRASH_BUDGET:
        assert decide(wished, seen).step not in starts


def act(wished: Wish, seen: Seen, decision: Decision, answers: bool) -> Seen:
    """What a well-behaved engine makes of a step; `answers` is whether the agent comes up well."""
    match decision.step:
        case Step.CREATE | Step.REPLACE:
            container, held = box(release=wished.release, restart=wished.restart), True
        case Step.START | Step.NUDGE:
            container, held = box(release=wished.release, restart=wished.restart), True
        case Step.STOP:
            container, held = (box("exited") if seen.container else None), False
        case Step.REMOVE:
            container, held = None, False
        case _:
            container, held = seen.container, seen.held
    up = container is not None and container.state == "running" and wished.goal == Goal.RUNNING
    waited = decision.step is Step.WAIT
    return Seen(
        container=container,
        healthy=up and answers,
        was_ready=False,
        ever_ready=seen.ever_ready or (up and answers),
        crashes=seen.crashes,
        status=decision.status,
        overdue=waited,  # waiting long enough ends in the deadline
        held=held,
    )


@given(st.lists(st.tuples(wishes, sights), min_size=1, max_size=4), st.booleans())
def test_any_history_settles_within_a_few_steps(history, answers):
    for wished, seen in history:
        decision = decide(wished, seen)
    for _ in range(8):
        if decision.step is Step.NONE:
            break
        seen = act(wished, seen, decision, answers)
        wished = Wish(wished.goal, wished.release, wished.restart, changed=False)
        decision = decide(wished, seen)

    assert decision.step is Step.NONE
    assert decision.status in ENDS[wished.goal] | {Status.DEGRADED}
