"""An upgrade from claim to outcome, on the fake engine."""

import time
from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane.agents.actions import delete_agent, restart_agent, stop_agent, update_agent
from controlplane.agents.models import Agent
from controlplane.audit.models import AuditEvent
from controlplane.jobs.claim import Claim
from controlplane.keys.actions import add_key, revoke_key
from controlplane.portability.models import Export
from controlplane.snapshots.models import Snapshot
from controlplane.upgrades.actions import roll_back
from controlplane.upgrades.models import UPGRADE, Halt, Upgrade
from provisioner.models import Turn
from provisioner.offsite import place
from provisioner.snapshots import restore as restoring
from provisioner.upgrades import health
from provisioner.upgrades.errors import NotGood
from provisioner.workspaces.base import Pool, PoolFull
from tests.provisioner.upgrades.conftest import NEXT

pytestmark = pytest.mark.django_db(transaction=True)


def agent_of(upgrade):
    return Agent.objects.select_related("release").get(pk=upgrade.agent_id)


def test_a_good_image_is_kept(asked, carry_out, sweeping, engine, container, running, disk):
    before = disk.files()

    done = carry_out(asked())

    assert (done.status, done.outcome, done.message) == ("done", "kept", "")
    assert engine.specs[container].image == NEXT
    assert (done.was_up, done.spoke_before, done.spoke_after) == (True, True, True)
    assert done.snapshot.usable
    assert (done.snapshot.origin, done.snapshot.release) == ("before_upgrade", 1)
    agent = agent_of(done)
    assert (agent.status, agent.release.number, agent.release.cause) == ("running", 2, "upgraded")
    assert agent.release.why.startswith("Upgraded from 0.19.0 to ")
    assert disk.files() == before
    assert running.conditions.get(type=UPGRADE).status is True
    assert running.events.filter(kind="upgrade.kept", level="ok").exists()


@pytest.mark.parametrize(("why_not", "status"), [(None, "pending"), ("No store here.", "done")])
def test_its_snapshot_goes_off_site_afterwards_where_there_is_a_store(
    asked, carry_out, sweeping, monkeypatch, why_not, status
):
    monkeypatch.setattr(place, "why_not", lambda: why_not)

    done = carry_out(asked())

    assert (done.outcome, done.snapshot.status, done.snapshot.usable) == ("kept", status, True)


def test_configuration_that_cannot_be_compared_is_told(
    asked, carry_out, sweeping, disk, backend, monkeypatch
):
    real = disk.take

    def take(agent_id, clone_id):
        if clone_id.startswith("upg_"):
            raise PoolFull(0.5)
        return real(agent_id, clone_id)

    monkeypatch.setattr(backend.workspaces.clones, "take", take)

    done = carry_out(asked())

    assert (done.outcome, "could not be compared" in done.message) == ("kept", True)


def rolled_back(done, disk, before, reason):
    """S10: as before, running, and it says why."""
    assert (done.outcome, done.reason) == ("rolled_back", reason), done.message
    assert done.status == "failed"
    agent = agent_of(done)
    first, _, third = agent.releases.order_by("number")
    assert (agent.status, agent.release, agent.observed_release) == ("running", third, 3)
    assert (third.image, third.cause) == (first.image, "rolled_back_by_itself")
    assert disk.files() == before
    condition = agent.conditions.get(type=UPGRADE)
    assert (condition.status, condition.reason) == (False, reason)
    assert agent.events.filter(kind="upgrade.rolled_back").exists()
    event = AuditEvent.objects.get(action="agent.rolled_back", target=agent.pk)
    assert (event.actor_kind, event.data["release"], event.data["to"]) == ("system", 3, 1)


def test_an_image_that_dies_is_rolled_back(asked, carry_out, sweeping, image, disk, monkeypatch):
    proven = []
    monkeypatch.setattr(restoring, "prove", lambda *of: proven.append(of))
    before = disk.files()
    image.dies = True
    image.does = lambda: (disk.live / "work.txt").write_text("migrated")

    done = carry_out(asked())

    rolled_back(done, disk, before, "restart_budget_used_up")
    assert "is kept as a snapshot" in done.message
    kept = Snapshot.objects.get(pk=done.restore.keep_as)
    assert (disk.root / kept.pk / "data" / "work.txt").read_text() == "migrated"
    assert proven == [], "before it was wished for, and not once more"


def test_an_image_that_ends_soon_after_it_answered_is_rolled_back(
    asked, carry_out, sweeping, image, disk
):
    before = disk.files()
    image.ends = True

    rolled_back(carry_out(asked()), disk, before, "ended_again")


def test_an_image_that_loses_config_is_rolled_back_and_the_keys_are_told(
    asked, carry_out, sweeping, image, disk
):
    before = disk.files()
    config = disk.live / ".hermes" / "config.yaml"
    image.does = lambda: config.write_text("model:\n  default: b\nnew: 1\n")

    done = carry_out(asked())

    rolled_back(done, disk, before, "config_lost")
    assert done.config_lost == [{"file": ".hermes/config.yaml", "key": "mcp_servers"}]
    assert "mcp_servers of .hermes/config.yaml" in done.message
    assert "10.0.0.1" not in done.message
    assert done.agent.releases.get(number=3).why.startswith("Rolled back by itself")


def test_what_a_worker_that_died_had_taken_to_compare_is_taken_anew(
    asked, carry_out, sweeping, image, disk, running
):
    upgrade, before = asked(), disk.files()
    disk.take(running.pk, upgrade.pk)
    image.does = lambda: (disk.live / ".hermes" / "config.yaml").unlink()

    rolled_back(carry_out(upgrade), disk, before, "config_lost")


def test_what_a_worker_that_died_had_taken_to_compare_is_not_left_behind(
    asked, carry_out, sweeping, image, disk, running, backend
):
    upgrade = asked()
    disk.take(running.pk, upgrade.pk)
    image.dies = True

    assert carry_out(upgrade).outcome == "rolled_back"
    assert upgrade.pk not in backend.workspaces.clones.known(running.pk)


def test_without_a_workspace_nothing_is_said_of_what_became_of_it(
    asked, carry_out, sweeping, image
):
    upgrade = asked()
    Agent.objects.update(workspace_made_at=None)
    image.dies = True

    done = carry_out(upgrade)

    assert (done.outcome, done.restore) == ("rolled_back", None)
    assert done.message.endswith("It runs again with 0.19.0, as before.")


def test_an_image_that_answers_no_message_is_rolled_back(
    asked, carry_out, sweeping, image, disk, backend, running
):
    before = disk.files()
    image.does = lambda: backend.prober.speaking.update({running.pk: False})

    done = carry_out(asked())

    rolled_back(done, disk, before, "does_not_answer")
    assert (done.spoke_before, done.spoke_after) == (True, False)


@pytest.mark.parametrize("said", [False, None], ids=["did-not", "cannot-be-asked"])
def test_what_did_not_answer_before_is_no_argument(
    asked, carry_out, sweeping, backend, running, said
):
    backend.prober.speaking[running.pk] = said

    done = carry_out(asked())

    assert (done.outcome, done.spoke_before, done.spoke_after) == ("kept", said, None)


def test_a_stopped_one_is_moved_and_stays_stopped(asked, carry_out, sweeping, as_alice, running):
    stop_agent(as_alice, running)
    while not Agent.objects.get(pk=running.pk).settled:
        time.sleep(0.02)

    done = carry_out(asked())

    assert (done.outcome, done.was_up) == ("kept", False)
    assert "has not run yet" in done.message
    agent = agent_of(done)
    assert (agent.goal, agent.release.image) == ("stopped", NEXT)
    assert done.snapshot.usable


def left_alone(upgrade, done, engine, container, before, reason):
    """S12: the old one goes on, nothing was made and nothing is left."""
    assert (done.status, done.outcome, done.reason) == ("failed", "not_run", reason)
    assert engine.inspect(container) == before
    agent = agent_of(upgrade)
    assert (agent.status, agent.release.number) == ("running", 1)
    assert not Snapshot.objects.kept().exists()
    assert not agent.conditions.filter(type=UPGRADE).exists()


def test_without_the_image_the_old_one_goes_on(asked, carry_out, engine, container):
    """R11"""
    engine.missing_images.add(NEXT)
    before = engine.inspect(container)

    done = carry_out(upgrade := asked())

    left_alone(upgrade, done, engine, container, before, "image_missing")
    assert NEXT in done.message


def test_without_its_keys_the_old_one_goes_on(
    asked, carry_out, engine, container, running, as_alice
):
    """S12"""
    key = add_key(as_alice, name="main", provider="openai", value="sk-0123456789abcdef")
    upgrade = asked()
    running.releases.update(key=key)
    revoke_key(as_alice, key)
    before = engine.inspect(container)

    done = carry_out(upgrade)

    left_alone(upgrade, done, engine, container, before, "key_gone")
    assert "key main is revoked" in done.message


def test_with_the_vault_away_the_old_one_goes_on(asked, carry_out, engine, container, vault):
    vault.sealed = True
    before = engine.inspect(container)

    done = carry_out(upgrade := asked())

    left_alone(upgrade, done, engine, container, before, "vault_unavailable")


def test_with_a_full_pool_the_old_one_goes_on(asked, carry_out, engine, container, backend):
    backend.workspaces.pool = Pool(total=100, free=1, reserve=10)
    before = engine.inspect(container)

    done = carry_out(upgrade := asked())

    left_alone(upgrade, done, engine, container, before, "pool_full")


@pytest.mark.parametrize(("web", "reason"), [(False, "in_a_turn"), (True, "maybe_in_a_turn")])
def test_in_a_turn_the_old_one_goes_on(asked, carry_out, engine, container, running, web, reason):
    Turn.objects.create(agent=running, until=now() + timedelta(seconds=30), web=web)
    before = engine.inspect(container)

    done = carry_out(upgrade := asked())

    left_alone(upgrade, done, engine, container, before, reason)


def test_a_turn_that_begins_after_the_snapshot_is_not_broken_off(
    asked, carry_out, engine, container, running, disk, backend, monkeypatch
):
    real, before = disk.take, engine.inspect(container)

    def take(*ids):
        Turn.objects.create(agent=running, until=now() + timedelta(seconds=30))
        return real(*ids)

    monkeypatch.setattr(backend.workspaces.clones, "take", take)

    done = carry_out(upgrade := asked())

    left_alone(upgrade, done, engine, container, before, "in_a_turn")
    assert backend.workspaces.clones.known(running.pk) == []


def test_told_to_it_goes_on_in_a_turn(asked, carry_out, sweeping, running):
    Turn.objects.create(agent=running, until=now() + timedelta(seconds=30))

    assert carry_out(asked(force=True)).outcome == "kept"


def test_settings_changed_meanwhile_are_waited_for(
    asked, carry_out, sweeping, image, running, as_alice
):
    upgrade = asked()
    image.does = lambda: update_agent(as_alice, running, size="large")

    done = carry_out(upgrade)

    assert (done.outcome, done.message) == ("kept", "")
    release = agent_of(done).release
    assert (release.number, release.size, release.image) == (3, "large", NEXT)


def test_settings_changed_meanwhile_stay_when_it_goes_back(
    asked, carry_out, sweeping, image, disk, running, as_alice
):
    upgrade, before, first = asked(), disk.files(), running.release.image
    image.dies = True
    image.does = lambda: update_agent(as_alice, running, size="large")

    done = carry_out(upgrade)

    assert (done.outcome, disk.files()) == ("rolled_back", before), done.message
    agent = agent_of(done)
    assert (agent.status, agent.release.size, agent.release.image) == ("running", "large", first)


@pytest.mark.parametrize(("act", "goal"), [(stop_agent, "stopped"), (delete_agent, "deleted")])
def test_what_people_want_of_it_meanwhile_goes_before(
    asked, carry_out, sweeping, image, running, as_alice, act, goal
):
    image.dies = True
    upgrade = asked()
    image.does = lambda: act(as_alice, running)

    done = carry_out(upgrade)

    assert (done.status, done.outcome, done.reason) == ("done", "unjudged", "changed_meanwhile")
    assert (agent_of(done).goal, agent_of(done).release.number) == (goal, 2)


def test_a_restart_is_no_end(asked, carry_out, sweeping, backend, running, as_alice, monkeypatch):
    """People may ask for one while it is watched."""
    asked_before = []

    def speaks(target):
        if asked_before:
            restart_agent(as_alice, running)
        asked_before.append(target)
        return True

    monkeypatch.setattr(backend.prober, "speaks", speaks)

    done = carry_out(asked())

    assert (done.outcome, len(asked_before)) == ("kept", 2)
    assert agent_of(done).restart_serial == 1


def test_the_workspace_that_cannot_be_put_back_is_told_loudly(
    asked, carry_out, sweeping, image, disk, backend, running
):
    def spoil():
        snapshot = Snapshot.objects.get(origin="before_upgrade")
        (disk.root / snapshot.pk / "data" / "work.txt").write_text("altered")

    image.dies, image.does = True, spoil

    done = carry_out(asked())

    assert (done.status, done.outcome) == ("failed", "rollback_failed")
    assert (done.reason, "not what it was" in done.message) == ("rollback_failed", True)
    assert running.events.get(kind="upgrade.rollback_failed").level == "bad"
    assert running.conditions.get(type=UPGRADE).reason == "rollback_failed"
    assert Upgrade.objects.count() == 1


def test_what_state_it_is_in_is_told_in_words(asked, carry_out, running):
    upgrade = asked()
    Agent.objects.update(status="crash_looping", message="")

    with pytest.raises(NotGood, match="It is crash looping"):
        health.until_running(running.pk, upgrade.from_image, now())

    Agent.objects.update(observed_generation=0)
    assert "It is crash looping." in carry_out(upgrade).message


def test_three_failures_halt_an_image_for_everybody(
    asked, carry_out, sweeping, image, running, as_alice
):
    image.dies = True
    for number in range(3):
        done = carry_out(asked(force=number > 0))
        assert done.outcome == "rolled_back"

    halt = Halt.objects.get()
    assert (halt.image, halt.runtime, halt.lifted_at) == (NEXT, "hermes", None)
    assert AuditEvent.objects.filter(action="upgrades.halted", target=NEXT).count() == 1


def test_going_back_to_another_image_is_an_upgrade_too(
    asked, carry_out, sweeping, running, as_alice, engine, container
):
    first = running.release.image
    carry_out(asked())

    done = carry_out(roll_back(as_alice, running, release=1))

    assert done.outcome == "kept"
    release = agent_of(done).release
    assert (release.number, release.cause, release.image) == (3, "rolled_back", first)
    assert engine.specs[container].image == first


class Died(Exception):
    pass


BEFORE = ["checking", "was_up", "asking", "spoke_before", "copying", "snapshot", "listing",
          "switching"]  # fmt: skip
AFTER = ["starting", "healthy_at", "asking_again", "spoke_after", "comparing"]
BACK = ["config_lost", "rolling_back", "restoring", "returning"]


def dying_at(monkeypatch, step):
    """Right after it was written, or where that is not committed yet, right before."""
    real = Claim.write

    def write(self, **columns):
        real(self, **columns)
        if step in (columns.get("step"), *columns):
            raise Died

    monkeypatch.setattr(Claim, "write", write)


@pytest.mark.parametrize("step", [*BEFORE, *AFTER])
def test_a_worker_that_dies_at_any_step_is_followed_by_another(
    asked, carry_out, sweeping, backend, disk, running, monkeypatch, step
):
    """R1: switched once, kept, one snapshot, nothing left behind."""
    upgrade, before = asked(), disk.files()
    with monkeypatch.context() as dying:
        dying_at(dying, step)
        with pytest.raises(Died):
            carry_out(upgrade)

    done = carry_out(upgrade)

    assert (done.status, done.outcome, done.message) == ("done", "kept", "")
    assert backend.workspaces.clones.known(running.pk) == [done.snapshot_id]
    assert Snapshot.objects.kept().count() == 1
    agent = agent_of(done)
    assert (agent.status, agent.release.number) == ("running", 2)
    assert disk.files() == before


@pytest.mark.parametrize("step", BACK)
def test_a_worker_that_dies_while_it_rolls_back_is_followed_by_another(
    asked, carry_out, sweeping, image, disk, monkeypatch, step
):
    """R1: rolled back once."""
    upgrade, before = asked(), disk.files()
    image.does = lambda: (disk.live / ".hermes" / "config.yaml").unlink()
    with monkeypatch.context() as dying:
        dying_at(dying, step)
        with pytest.raises(Died):
            carry_out(upgrade)

    done = carry_out(upgrade)

    rolled_back(done, disk, before, "config_lost")
    assert done.config_lost == [{"file": ".hermes/config.yaml", "key": ""}]
    assert done.agent.restores.count() == 1


def test_a_plain_node_says_that_it_cannot(asked, carry_out, backend, monkeypatch):
    upgrade = asked()
    monkeypatch.setattr(type(backend.workspaces), "clones", None)

    assert carry_out(upgrade).reason == "no_snapshots_here"


def test_a_snapshot_that_somebody_takes_along_outlives_the_worker_that_died(
    asked, carry_out, sweeping, backend, running, monkeypatch
):
    upgrade = asked()
    with monkeypatch.context() as dying:
        dying_at(dying, "switching")
        with pytest.raises(Died):
            carry_out(upgrade)
    first = Snapshot.objects.get(origin="before_upgrade")
    export = Export.objects.create(agent=running, snapshot=first, requested_by="Alice")

    done = carry_out(upgrade)

    assert (done.outcome, done.snapshot_id != first.pk) == ("kept", True)
    export.refresh_from_db()
    assert (export.snapshot_id, export.snapshot.usable) == (first.pk, True)
    assert backend.workspaces.clones.has(running.pk, first.pk)
