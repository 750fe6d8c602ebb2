"""Upgrades of a real agent on a real disk: good images, bad ones, and workers that are killed."""

import os
import subprocess
import sys
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from django.db import connection

from controlplane.agents import releases
from controlplane.agents.actions import create_agent, delete_agent, restore_agent, start_agent
from controlplane.agents.models import Agent, Release
from controlplane.jobs.claim import claim
from controlplane.snapshots.actions import restore_snapshot
from controlplane.snapshots.models import Restore, Snapshot
from controlplane.upgrades.actions import roll_back, upgrade_agent
from controlplane.upgrades.models import Upgrade
from provisioner import names, outcomes
from provisioner.images import ensure_images
from provisioner.jobs.kinds import KINDS
from provisioner.look import target
from provisioner.reconcile import reconcile
from provisioner.snapshots import manifest
from provisioner.upgrades import health
from runtimes.catalog import CATALOG, FOUND
from tests.engine.conftest import INSTALLATION, wait_for
from tests.engine.talk import say
from tests.engine.tiny.variants import ensure_variant
from tests.working import meanwhile

CONFIG = "model:\n  default: a\nmcp_servers:\n  home:\n    url: http://10.0.0.1/hidden\n"
BY_BOOTS = {"boots"}  # the tiny runtime writes down its starts


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    monkeypatch.setattr(health, "STEADY_S", 1)


@pytest.fixture
def tiny_agent(backend, tiny, go, as_alice) -> Agent:
    """One that runs the tiny runtime as Hermes, with something in its workspace."""
    agent = create_agent(
        as_alice, name="scout", runtime="hermes", size="small", disk_gib=1, egress="none"
    )
    Release.objects.update(image=tiny)
    agent = go(Agent.objects.get(pk=agent.pk))
    assert agent.status == "running", (agent.status, agent.message)
    data = data_of(backend, agent)
    (data / ".hermes").mkdir()
    (data / ".hermes" / "config.yaml").write_text(CONFIG)
    (data / "work.txt").write_text("half done")
    for path in (data / ".hermes", data / ".hermes" / "config.yaml", data / "work.txt"):
        os.chown(path, 10001, 10001)
    return agent


def data_of(backend, agent):
    return backend.workspaces.points / agent.pk / "data"


def work_on(backend, agent):
    """A node at work on one agent."""

    def restore() -> None:
        for row in Restore.objects.under_way():
            if (found := claim(Restore, row.agent.node, row.pk)) is not None:
                KINDS["snapshots.restore"].run(found, backend)

    return passes_over(backend, agent), meanwhile(restore, 0.1)


def passes_over(backend, agent):
    return meanwhile(lambda: reconcile(agent.pk, backend), 0.1)


@pytest.fixture
def at_work(backend, tiny_agent):
    passes, restores = work_on(backend, tiny_agent)
    with passes, restores:
        yield


@pytest.fixture
def asked(as_alice, tiny_agent, backend, monkeypatch):
    def ask(name: str) -> Upgrade:
        image = ensure_variant(backend.engine, name)
        monkeypatch.setattr(releases, "image_of", lambda runtime: image)
        return upgrade_agent(as_alice, tiny_agent)

    return ask


def image_of(backend, agent) -> str:
    found = backend.engine._api.inspect_container(names.container(agent.pk))
    return found["Config"]["Image"]


def content(entries):
    return {one.path: one.content for one in entries if one.path not in BY_BOOTS}


def same_as(backend, agent, snapshot_id):
    """Byte for byte what the snapshot has, but for what a boot writes."""
    clones = backend.workspaces.clones
    before = manifest.read(clones.manifest(agent.pk, snapshot_id))
    after = manifest.of(data_of(backend, agent))
    return content(before.entries) == content(after.entries)


def went_back(backend, tiny, done):
    agent = Agent.objects.select_related("release").get(pk=done.agent_id)
    assert (agent.status, agent.release.number, agent.observed_release) == ("running", 3, 3)
    assert image_of(backend, agent) == tiny
    assert same_as(backend, agent, done.snapshot_id)
    assert (data_of(backend, agent) / "work.txt").read_text() == "half done"
    return agent


def test_a_good_image_is_kept(backend, tiny_agent, asked, carry_out, at_work):
    done = carry_out(asked("good"))

    assert (done.outcome, done.message) == ("kept", "")
    assert image_of(backend, tiny_agent) == done.to_image
    assert same_as(backend, tiny_agent, done.snapshot_id)


def test_a_bad_image_is_rolled_back_on_the_workspace_from_before(
    backend, tiny, tiny_agent, asked, carry_out, at_work
):
    """S10: a migration that went half way is undone."""
    done = carry_out(asked("bad"))

    assert (done.outcome, done.reason) == ("rolled_back", "restart_budget_used_up"), done.message
    went_back(backend, tiny, done)
    kept = done.restore.keep_as
    with backend.workspaces.clones.opened(tiny_agent.pk, kept) as root:
        assert (root / "data" / "work.txt").read_text() == "migrated"


def test_lost_config_is_rolled_back_and_named_without_its_values(
    backend, tiny, asked, carry_out, at_work
):
    """S10"""
    done = carry_out(asked("loses"))

    assert (done.outcome, done.reason) == ("rolled_back", "config_lost"), done.message
    assert done.config_lost == [{"file": ".hermes/config.yaml", "key": "mcp_servers"}]
    assert "hidden" not in str(vars(done))
    agent = went_back(backend, tiny, done)
    assert (data_of(backend, agent) / ".hermes" / "config.yaml").read_text() == CONFIG


@pytest.fixture
def short_deadline(monkeypatch):
    """Of four seconds for a boot, and up to four times that for a migration that speaks."""
    quick = replace(CATALOG["hermes"], start_usual_s=0.5, start_deadline_s=4)
    monkeypatch.setitem(FOUND, "hermes", quick)
    monkeypatch.setattr(outcomes, "GRACE_BEFORE_START", 0)


def test_a_slow_migration_is_not_judged_dead(
    backend, tiny_agent, asked, carry_out, at_work, short_deadline
):
    """R14"""
    done = carry_out(asked("slow"))

    assert (done.outcome, done.message) == ("kept", "")
    assert (done.healthy_at - done.switched_at).total_seconds() > 7


def test_one_that_hangs_in_silence_is(backend, tiny, asked, carry_out, at_work, short_deadline):
    done = carry_out(asked("hangs"))

    assert (done.outcome, done.reason) == ("rolled_back", "start_timed_out"), done.message
    went_back(backend, tiny, done)


def test_an_image_that_is_not_there_changes_nothing(
    backend, tiny, tiny_agent, as_alice, carry_out, monkeypatch
):
    """R11"""
    monkeypatch.setattr(releases, "image_of", lambda runtime: "roost/tests-missing:1")
    before = backend.engine.inspect(names.container(tiny_agent.pk))

    done = carry_out(upgrade_agent(as_alice, tiny_agent))

    assert (done.outcome, done.reason) == ("not_run", "image_missing")
    assert backend.engine.inspect(names.container(tiny_agent.pk)) == before
    assert backend.workspaces.clones.known(tiny_agent.pk) == []


def test_back_by_hand_to_the_image_before(
    backend, tiny, tiny_agent, asked, as_alice, carry_out, at_work
):
    carry_out(asked("good"))

    done = carry_out(roll_back(as_alice, tiny_agent, release=1))

    assert (done.outcome, done.message) == ("kept", "")
    assert image_of(backend, tiny_agent) == tiny
    assert same_as(backend, tiny_agent, done.snapshot_id)


def test_hermes_itself_is_asked_a_message_before_and_after(
    backend, running, as_alice, carry_out, monkeypatch
):
    api, image = backend.engine._api, running.release.image
    api.tag(image, "roost/tests-hermes", "next", force=True)
    monkeypatch.setattr(releases, "image_of", lambda runtime: "roost/tests-hermes:next")
    say(backend, running, "Remember: the codeword is heron-4711")
    passes, restores = work_on(backend, running)

    with passes, restores:
        done = carry_out(upgrade_agent(as_alice, running))

    assert (done.outcome, done.message) == ("kept", "")
    assert (done.spoke_before, done.spoke_after) == (True, True)
    running.refresh_from_db()
    assert "heron-4711" in say(backend, running, "What is the codeword?")
    assert image_of(backend, running) == "roost/tests-hermes:next"


def test_openclaw_is_asked_in_a_conversation_of_its_own(backend, as_alice, go):
    ensure_images(backend.engine, print, [CATALOG["openclaw"]])
    agent = create_agent(
        as_alice, name="claw", runtime="openclaw", size="medium", disk_gib=1, egress="none"
    )
    wait_for(lambda: go(agent).status == "running", 200)

    found = target(backend, Agent.objects.get(pk=agent.pk))

    assert [backend.prober.speaks(found) for _ in range(2)] == [True, True]
    assert backend.prober.messages(found) == 0  # of its main conversation


def test_what_a_deleted_agent_left_is_copied_and_survives_its_disk(
    backend, tiny_agent, as_alice, carry_out, go
):
    delete_agent(as_alice, tiny_agent)
    go(tiny_agent)

    done = carry_out(Snapshot.objects.get(origin="before_delete"))

    assert done.usable
    with backend.workspaces.clones.opened(tiny_agent.pk, done.pk) as root:
        assert (root / "data" / "work.txt").read_text() == "half done"
    (backend.workspaces.pool / f"{tiny_agent.pk}.img").unlink()
    restore_agent(as_alice, tiny_agent)
    assert go(tiny_agent).status == "stopped"
    with passes_over(backend, tiny_agent):
        restored = carry_out(restore_snapshot(as_alice, done))
    assert restored.status == "done", restored.message
    start_agent(as_alice, tiny_agent)
    assert go(tiny_agent).status == "running"
    assert (data_of(backend, tiny_agent) / "work.txt").read_text() == "half done"


KILLED = """
import os, sys
import django; django.setup()
from pathlib import Path
from django.conf import settings
from controlplane.jobs.claim import Claim, claim
from controlplane.keys.vault.memory import MemoryVault
from controlplane.upgrades.models import Upgrade
from provisioner.backend import Backend
from provisioner.engines.docker import DockerEngine
from provisioner.probe import HttpProber
from provisioner.secrets import TmpfsKeys
from provisioner.upgrades import health, run
from provisioner.workspaces.loop import LoopWorkspaces
job, step, state = sys.argv[1], sys.argv[2], Path(sys.argv[3])
health.STEADY_S = 1
found = claim(Upgrade, settings.ROOST_NODE, job)
backend = Backend(
    engine=DockerEngine(), workspaces=LoopWorkspaces(state), keys=TmpfsKeys(state / "keys"),
    vault=MemoryVault(), prober=HttpProber(), guarded=True, patience=20,
)
real = Claim.write
def write(self, **columns):
    real(self, **columns)
    if step in (columns.get("step"), *columns):
        os.kill(os.getpid(), 9)
Claim.write = write
run.run(found, backend)
"""


@pytest.fixture
def killed(services, state):
    """A worker that is killed with kill -9 at a step."""
    base = urlsplit(services["DATABASE_URL"])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "DATABASE_URL": base._replace(path="/" + connection.settings_dict["NAME"]).geturl(),
        "DJANGO_SETTINGS_MODULE": "controlplane.settings.test",
        "ROOST_INSTALLATION": INSTALLATION,
        "ROOST_STATE_DIR": str(state),
    }

    def work(upgrade: Upgrade, step: str) -> None:
        argv = [sys.executable, "-c", KILLED, upgrade.pk, step, str(state)]
        done = subprocess.run(argv, env=environment, check=False, capture_output=True, timeout=120)
        assert done.returncode == -9, done.stderr[-2000:]

    return work


BEFORE = ["checking", "asking", "copying", "snapshot", "listing", "switching"]
AFTER = ["release_made", "starting", "healthy_at", "comparing"]


@pytest.mark.parametrize("step", [*BEFORE, *AFTER])
def test_a_worker_killed_at_a_step_is_followed_by_another(
    backend, tiny_agent, asked, carry_out, at_work, killed, step
):
    """R1: switched once, kept, one container, one snapshot, nothing left behind."""
    upgrade = asked("good")
    killed(upgrade, step)

    done = carry_out(upgrade)

    assert (done.outcome, done.message) == ("kept", "")
    agent = Agent.objects.select_related("release").get(pk=tiny_agent.pk)
    assert (agent.status, agent.release.number) == ("running", 2)
    assert image_of(backend, tiny_agent) == done.to_image
    assert backend.workspaces.clones.known(tiny_agent.pk) == [done.snapshot_id]
    assert same_as(backend, tiny_agent, done.snapshot_id)
    assert len(backend.engine.containers({names.AGENT: tiny_agent.pk})) == 1


@pytest.mark.parametrize("step", ["config_lost", "rolling_back", "release_back", "returning"])
def test_a_worker_killed_while_it_rolls_back_is_followed_by_another(
    backend, tiny, tiny_agent, asked, carry_out, at_work, killed, step
):
    """R1, B4: rolled back once; the old or the new, never half."""
    upgrade = asked("loses")
    killed(upgrade, step)

    done = carry_out(upgrade)

    assert (done.outcome, done.reason) == ("rolled_back", "config_lost"), done.message
    went_back(backend, tiny, done)
    assert Restore.objects.filter(agent=tiny_agent).count() == 1
    assert len(backend.engine.containers({names.AGENT: tiny_agent.pk})) == 1
