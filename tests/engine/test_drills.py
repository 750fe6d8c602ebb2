"""Recovery drills of a real agent: what is there afterwards, and what a loss looks like."""

import os
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from django.db import connection

from controlplane.drills.actions import start_drill
from controlplane.drills.models import Drill
from provisioner.drills import hurting
from provisioner.drills.alarm import DRILL
from tests.engine.conftest import INSTALLATION, wait_for
from tests.engine.talk import say

CODEWORD = "heron-4711"


def data(backend, agent):
    return backend.workspaces.points / agent.pk / "data"


def drill(as_alice, agent, carry_out, kind):
    return carry_out(start_drill(as_alice, agent, kind=kind))


@pytest.mark.parametrize("kind", ["process", "container", "reboot"])
def test_a_conversation_and_all_files_survive(
    backend, running, as_alice, carry_out, sweeping, kind
):
    """B4: asked before and after."""
    say(backend, running, f"Remember: the codeword is {CODEWORD}")
    (data(backend, running) / "work.txt").write_text("half done")

    done = drill(as_alice, running, carry_out, kind)

    assert (done.verdict, done.differences) == ("passed", []), done.message
    assert (done.answered, done.conversation_reachable) == (True, True)
    assert done.report["messages_before"] >= 2
    assert done.files_compared == done.files_equal > 1
    assert 0 < done.recovery_ms < 60_000
    assert backend.workspaces.clones.known(running.pk) == []
    running.refresh_from_db()
    assert CODEWORD in say(backend, running, "What is the codeword?")


def test_a_planted_loss_is_found_and_named(
    backend, running, as_alice, carry_out, sweeping, monkeypatch
):
    lost = data(backend, running) / "work.txt"
    lost.write_text("half done")
    real = hurting.hurt
    monkeypatch.setattr(hurting, "hurt", lambda *one: real(*one) or lost.unlink())

    done = drill(as_alice, running, carry_out, "process")

    assert (done.verdict, done.reason) == ("failed", "not_as_before")
    assert done.differences == [{"path": "work.txt", "what": "missing"}]
    assert "work.txt: missing" in running.conditions.get(type=DRILL).message
    with backend.workspaces.clones.opened(running.pk, done.snapshot_id) as root:
        assert (root / "data" / "work.txt").read_text() == "half done"


KILLED = """
import os, sys
import django; django.setup()
from pathlib import Path
from django.conf import settings
from controlplane.drills.models import Drill
from controlplane.jobs.claim import Claim, claim
from controlplane.keys.vault.memory import MemoryVault
from provisioner import boot
from provisioner.backend import Backend
from provisioner.drills import hurting, run
from provisioner.engines.docker import DockerEngine
from provisioner.probe import HttpProber
from provisioner.secrets import TmpfsKeys
from provisioner.workspaces.loop import LoopWorkspaces
job, step, state = sys.argv[1], sys.argv[2], Path(sys.argv[3])
die = lambda *_: os.kill(os.getpid(), 9)
found = claim(Drill, settings.ROOST_NODE, job)
backend = Backend(
    engine=DockerEngine(), workspaces=LoopWorkspaces(state), keys=TmpfsKeys(state / "keys"),
    vault=MemoryVault(), prober=HttpProber(), guarded=True, patience=20,
)
real, hurt = Claim.write, hurting.hurt
def write(self, **columns):
    real(self, **columns)
    if step in (columns.get("step"), *columns):
        die()
Claim.write = write
if step == "stopped":
    boot.let_go = die
if step == "ended":
    hurting.hurt = lambda *one: (hurt(*one), die())
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

    def work(drill: Drill, step: str) -> None:
        argv = [sys.executable, "-c", KILLED, drill.pk, step, str(state)]
        done = subprocess.run(argv, env=environment, check=False, capture_output=True, timeout=120)
        assert done.returncode == -9, done.stderr[-2000:]

    return work


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        *(("process", step) for step in ("snapshot", "ending", "ended", "comparing", "verdict")),
        *(("reboot", step) for step in ("stopped", "ended")),
    ],
)
def test_a_worker_killed_at_a_step_is_followed_by_another(
    backend, running, as_alice, carry_out, sweeping, killed, kind, step
):
    """R1: ended once, nothing lost, nothing left behind; the agent comes back meanwhile."""
    asked = start_drill(as_alice, running, kind=kind)
    killed(asked, step)
    asked.refresh_from_db()
    if step in {"stopped", "ended"}:
        wait_for(lambda: back(running, asked), 60)

    done = carry_out(asked)

    assert (done.status, done.verdict) == ("done", "passed"), done.differences
    assert backend.workspaces.clones.known(running.pk) == []
    running.refresh_from_db()
    assert running.status == "running"


def back(agent, drill) -> bool:
    agent.refresh_from_db()
    return agent.status == "running" and agent.ready_life != drill.life_before
