"""An upgrade whose workers died too often, or that took too long, ends as what it was by then."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.jobs.claim import ClaimLost, claim
from controlplane.snapshots.models import Snapshot
from controlplane.upgrades.models import UPGRADE, Upgrade
from controlplane.upgrades.queries import failures_in_a_row
from provisioner.jobs import launch
from provisioner.offsite import place
from provisioner.workspaces.base import WorkspaceTrouble
from tests.provisioner.upgrades.conftest import NEXT
from tests.provisioner.upgrades.test_run import Died, dying_at

pytestmark = pytest.mark.django_db(transaction=True)

LATE = {"deadline_at": now() - timedelta(seconds=1)}
DIED = {"attempts": Upgrade.ATTEMPTS, "lease_until": None}
WAYS = pytest.mark.parametrize(
    ("how", "reason"), [(DIED, "worker_died"), (LATE, "took_too_long")], ids=["died", "late"]
)


@pytest.fixture
def given_up(asked, carry_out, sweeping, backend, monkeypatch):
    """One whose worker died at a step, as the node's sweep ends it."""
    monkeypatch.setattr(launch, "start", lambda claim: None)
    monkeypatch.setattr(launch, "get_backend", lambda: backend)
    monkeypatch.setattr(place, "why_not", lambda: None)

    def give_up(step, how):
        upgrade = asked()
        with monkeypatch.context() as dying:
            dying_at(dying, step)
            with pytest.raises(Died):
                carry_out(upgrade)
        backend.workspaces.clones.take(upgrade.agent_id, upgrade.pk)
        Upgrade.objects.update(**how)
        launch.sweep()
        upgrade.refresh_from_db()
        assert upgrade.status == "failed"
        assert upgrade.pk not in backend.workspaces.clones.known(upgrade.agent_id)
        return upgrade

    return give_up


@WAYS
def test_before_the_switch_nothing_was_run(given_up, running, how, reason):
    done = given_up("listing", how)

    assert (done.outcome, done.reason) == ("not_run", reason)
    assert done.message.count("The agent was left as it is. Start a new upgrade") == 1
    assert Agent.objects.select_related("release").get(pk=running.pk).release.number == 1
    assert not Snapshot.objects.kept().exists()
    assert running.events.filter(kind="upgrade.not_run").exists()
    assert not running.conditions.filter(type=UPGRADE).exists()


def test_a_copy_that_cannot_be_removed_keeps_nothing_from_its_end(given_up, backend, monkeypatch):
    real = backend.workspaces.clones.drop

    def drop(agent_id, clone_id):
        if clone_id.startswith("snp_"):
            raise WorkspaceTrouble("It cannot be removed.")
        real(agent_id, clone_id)

    monkeypatch.setattr(backend.workspaces.clones, "drop", drop)

    assert given_up("listing", DIED).outcome == "not_run"


@WAYS
def test_after_the_switch_it_is_not_judged(given_up, running, how, reason):
    done = given_up("comparing", how)

    assert (done.outcome, done.reason) == ("unjudged", reason)
    assert f"go back to release 1 and restore {done.snapshot_id}" in done.message
    assert "Start a new upgrade" not in done.message
    condition = running.conditions.get(type=UPGRADE)
    assert (condition.status, condition.reason) == (False, reason)
    assert running.events.filter(kind="upgrade.unjudged").exists()
    assert (done.snapshot.status, done.snapshot.usable) == ("pending", True), "it is shipped"
    assert failures_in_a_row(NEXT) == 0


@WAYS
def test_one_that_was_to_go_back_did_not(given_up, running, image, disk, how, reason):
    image.does = lambda: (disk.live / ".hermes" / "config.yaml").unlink()

    done = given_up("rolling_back", how)

    assert (done.outcome, done.reason) == ("rollback_failed", "rollback_failed")
    assert "lost of its configuration" in done.message
    assert done.snapshot_id in done.message
    assert running.conditions.get(type=UPGRADE).reason == "rollback_failed"
    assert running.events.get(kind="upgrade.rollback_failed").level == "bad"
    assert done.snapshot.status == "pending"
    assert failures_in_a_row(NEXT) == 1


def test_who_still_works_on_it_is_shut_out(asked, backend, monkeypatch):
    monkeypatch.setattr(launch, "get_backend", lambda: backend)
    upgrade = asked()
    late = claim(Upgrade, upgrade.agent.node, upgrade.pk)
    Upgrade.objects.update(**LATE)

    launch.sweep()

    with pytest.raises(ClaimLost):
        late.write(step="switching")
