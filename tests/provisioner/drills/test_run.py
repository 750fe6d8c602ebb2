"""A drill from claim to verdict, on the fake engine."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.drills.models import Drill
from controlplane.jobs.claim import Claim
from controlplane.snapshots.models import Snapshot
from provisioner.drills import hurting, recovery
from provisioner.drills.alarm import DRILL
from provisioner.models import Turn

pytestmark = pytest.mark.django_db(transaction=True)


def in_a_turn(agent, **columns):
    Turn.objects.create(agent=agent, until=now() + timedelta(seconds=30), **columns)


@pytest.mark.parametrize("kind", ["process", "container", "reboot"])
def test_it_survives_and_says_how(asked, carry_out, sweeping, backend, clones, running, kind):
    backend.prober.said[running.pk] = 4

    done = carry_out(asked(kind))

    assert (done.status, done.verdict, done.message) == ("done", "passed", "")
    assert (done.files_compared, done.files_equal, done.bytes_compared) == (2, 2, 9)
    assert (done.answered, done.conversation_reachable) == (True, True)
    assert done.recovery_ms is not None
    assert done.recovered_at > done.killed_at
    assert running.conditions.get(type=DRILL).status is True
    assert running.events.filter(kind="drill.passed", level="ok").exists()


def test_one_that_passed_leaves_no_copies(asked, carry_out, sweeping, clones, running):
    carry_out(asked())

    assert clones.known(running.pk) == []
    assert not Snapshot.objects.exists()


def test_a_lost_file_fails_alarms_and_is_named(
    asked, carry_out, sweeping, live, running, monkeypatch
):
    real = hurting.hurt
    monkeypatch.setattr(
        hurting, "hurt", lambda *arguments: real(*arguments) or (live / "a.txt").unlink()
    )

    done = carry_out(asked())

    assert (done.status, done.verdict, done.reason) == ("done", "failed", "not_as_before")
    assert done.differences == [{"path": "a.txt", "what": "missing"}]
    assert (done.files_compared, done.files_equal) == (2, 1)
    row = running.conditions.get(type=DRILL)
    assert row.status is False
    assert "a.txt: missing" in row.message
    assert running.events.filter(kind="drill.failed", level="bad").exists()
    assert done.snapshot.usable


def test_what_a_worker_that_died_had_taken_to_compare_is_taken_anew(
    asked, carry_out, sweeping, clones, live, running, monkeypatch
):
    drill, real = asked(), hurting.hurt
    clones.take(running.pk, drill.pk)
    monkeypatch.setattr(
        hurting, "hurt", lambda *arguments: real(*arguments) or (live / "a.txt").unlink()
    )

    done = carry_out(drill)

    assert done.differences == [{"path": "a.txt", "what": "missing"}]
    assert clones.known(running.pk) == [done.snapshot_id]


def test_a_conversation_that_got_shorter_fails(
    asked, carry_out, sweeping, backend, running, monkeypatch
):
    backend.prober.said[running.pk] = 4
    real = hurting.hurt

    def hurt(*arguments):
        real(*arguments)
        backend.prober.said[running.pk] = 3

    monkeypatch.setattr(hurting, "hurt", hurt)

    done = carry_out(asked())

    assert (done.verdict, done.conversation_reachable) == ("failed", False)
    assert "shorter than before" in done.message


def test_what_nobody_could_say_before_is_not_asked_after(
    asked, carry_out, sweeping, backend, running
):
    backend.prober.said[running.pk] = None

    done = carry_out(asked())

    assert (done.verdict, done.conversation_reachable) == ("passed", None)


def test_one_that_does_not_come_back_alarms(asked, carry_out, running, monkeypatch):
    monkeypatch.setattr(recovery, "MARGIN_S", -90)

    done = carry_out(asked())

    assert (done.verdict, done.reason, done.answered) == ("failed", "not_back", False)
    assert running.conditions.get(type=DRILL).status is False


@pytest.mark.parametrize(
    ("web", "reason"), [(False, "in_a_turn"), (True, "maybe_in_a_turn")], ids=["turn", "web"]
)
def test_in_the_middle_of_a_turn_nothing_is_ended(
    asked, carry_out, running, engine, container, clones, web, reason
):
    in_a_turn(running, web=web)
    before = engine.inspect(container)

    done = carry_out(asked())

    assert (done.status, done.verdict, done.reason) == ("failed", "not_run", reason)
    assert engine.inspect(container) == before
    assert clones.known(running.pk) == []
    assert not running.conditions.filter(type=DRILL).exists()


def test_a_turn_that_begins_after_the_snapshot_is_not_broken_off(
    asked, carry_out, running, engine, container, clones, monkeypatch
):
    real, before = clones.take, engine.inspect(container)
    monkeypatch.setattr(clones, "take", lambda *ids: in_a_turn(running) or real(*ids))

    done = carry_out(asked())

    assert done.reason == "in_a_turn"
    assert engine.inspect(container) == before
    assert (clones.known(running.pk), Snapshot.objects.count()) == ([], 0)


def test_told_to_it_runs_in_the_middle_of_a_turn(asked, carry_out, sweeping, running):
    in_a_turn(running)

    assert carry_out(asked(force=True)).verdict == "passed"


def test_a_turn_whose_gateway_died_is_over(asked, carry_out, sweeping, running):
    Turn.objects.create(agent=running, until=now() - timedelta(seconds=1))

    assert carry_out(asked()).verdict == "passed"


def test_one_that_does_not_run_is_left_alone(asked, carry_out, running):
    drill = asked()
    type(running).objects.update(status="degraded")

    done = carry_out(drill)

    assert (done.verdict, done.reason) == ("not_run", "not_running")


def test_what_state_it_is_in_is_told_in_words(asked, carry_out, running):
    drill = asked()
    Agent.objects.update(status="crash_looping")

    assert "scout is crash looping: only one" in carry_out(drill).message


def test_the_engine_is_not_restarted_unless_an_operator_allows_it(asked, carry_out, running):
    done = carry_out(asked("engine"))

    assert (done.verdict, done.reason) == ("not_run", "engine_restart_not_allowed")
    assert "ROOST_DRILL_ENGINE_COMMAND" in done.message


def test_an_engine_that_leaves_containers_alone_passes(
    asked, carry_out, sweeping, running, settings
):
    settings.ROOST_DRILL_ENGINE_COMMAND = "true"

    assert carry_out(asked("engine")).verdict == "passed"


def test_an_engine_that_cannot_be_restarted_is_told(asked, carry_out, running, settings):
    settings.ROOST_DRILL_ENGINE_COMMAND = "false"

    assert carry_out(asked("engine")).reason == "engine_restart_failed"


class Died(Exception):
    pass


STEPS = [
    "checking", "copying", "snapshot", "listing", "ending", "recovering", "recovered_at",
    "comparing", "verdict",
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "step"),
    [*(("process", step) for step in STEPS), ("container", "ending"), ("reboot", "ending")],
)
def test_a_worker_that_dies_at_any_step_is_followed_by_another(
    asked, carry_out, sweeping, engine, running, clones, monkeypatch, step, kind
):
    """R1: ended once, compared once, nothing left behind."""
    drill, real, hurts = asked(kind), Claim.write, []
    hurt = hurting.hurt
    monkeypatch.setattr(hurting, "hurt", lambda *one: hurts.append(kind) or hurt(*one))

    def write(self, **columns):
        real(self, **columns)
        if step in (columns.get("step"), *columns):
            raise Died

    with monkeypatch.context() as dying:
        dying.setattr(Claim, "write", write)
        with pytest.raises(Died):
            carry_out(drill)

    done = carry_out(drill)

    assert (done.status, done.verdict, done.message) == ("done", "passed", "")
    assert hurts == [kind]
    assert clones.known(running.pk) == []
    running.refresh_from_db()
    assert running.status == "running"


def test_a_worker_that_died_right_after_the_deed_is_not_followed_by_a_second_one(
    asked, carry_out, sweeping, running, monkeypatch
):
    drill, hurts, real = asked(), [], hurting.hurt

    def hurt(*one):
        hurts.append(one)
        real(*one)
        raise Died

    monkeypatch.setattr(hurting, "hurt", hurt)
    with pytest.raises(Died):
        carry_out(drill)

    assert carry_out(drill).verdict == "passed"
    assert len(hurts) == 1


def test_a_plain_node_says_that_it_cannot(asked, carry_out, backend, monkeypatch):
    drill = asked()
    monkeypatch.setattr(type(backend.workspaces), "clones", None)

    assert carry_out(drill).reason == "no_snapshots_here"
    assert Drill.objects.get().verdict == "not_run"
