"""Snapshots and restores of a real agent on a real disk, with workers that are killed."""

import json
import os
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest
from django.db import connection

from controlplane.agents.models import Agent
from controlplane.jobs.claim import claim
from controlplane.jobs.models import Job
from controlplane.snapshots.actions import restore_snapshot, take_snapshot
from controlplane.snapshots.forking import fork
from controlplane.snapshots.models import Snapshot
from provisioner.snapshots import manifest
from provisioner.snapshots import restore as restoring
from tests.engine.conftest import wait_for
from tests.engine.talk import say

CODEWORD = "heron-4711"


def data(backend, agent):
    return backend.workspaces.points / agent.pk / "data"


def test_a_conversation_comes_back(backend, running, as_alice, carry_out, sweeping):
    say(backend, running, f"Remember: the codeword is {CODEWORD}")
    before = carry_out(take_snapshot(as_alice, running))
    say(backend, running, "Remember: the codeword is wader-1")
    (data(backend, running) / "later.txt").write_text("written after it")

    restore = carry_out(restore_snapshot(as_alice, before))

    assert restore.status == "done", (restore.reason, restore.message)
    agent = Agent.objects.get()
    ends = time.monotonic() + 60
    while agent.status != "running" and time.monotonic() < ends:
        time.sleep(0.2)
        agent.refresh_from_db()
    assert not (data(backend, running) / "later.txt").exists()
    answer = say(backend, agent, "What is the codeword?")
    assert CODEWORD in answer
    assert "wader-1" not in answer
    kept = carry_out(Snapshot.objects.get(pk=restore.keep_as))
    with backend.workspaces.clones.opened(running.pk, kept.pk) as root:
        assert (root / "data" / "later.txt").read_text() == "written after it"


def test_writes_wait_for_less_than_half_a_second(backend, running, as_alice, carry_out):
    (data(backend, running) / "big").write_bytes(os.urandom(64 * 1024**2))

    done = carry_out(take_snapshot(as_alice, running))

    assert done.usable
    assert 0 < done.held_ms < 500


KILLED = """
import os, sys
import django; django.setup()
from django.conf import settings
from pathlib import Path
from controlplane.jobs.claim import claim
from provisioner.jobs.kinds import KINDS
from provisioner.backend import fake_backend
from provisioner.workspaces.loop import LoopWorkspaces
kind, job, step, state = sys.argv[1:]
model = KINDS[kind].model
found = claim(model, settings.ROOST_NODE, job)
backend = fake_backend()
object.__setattr__(backend, "workspaces", LoopWorkspaces(Path(state)))
real = type(found).write
def write(self, **columns):
    real(self, **columns)
    if step in (columns.get("step"), *columns):
        os.kill(os.getpid(), 9)
type(found).write = write
KINDS[kind].run(found, backend)
"""


@pytest.fixture
def killed(services, state):
    """A worker that is killed with kill -9 right after it has written that it is at a step."""
    base = urlsplit(services["DATABASE_URL"])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "DATABASE_URL": base._replace(path="/" + connection.settings_dict["NAME"]).geturl(),
        "REDIS_URL": services["REDIS_URL"],
        "DJANGO_SETTINGS_MODULE": "controlplane.settings.test",
    }

    def work(job: Job, step: str) -> None:
        argv = [sys.executable, "-c", KILLED, job._meta.label_lower, job.pk, step, str(state)]
        done = subprocess.run(argv, env=environment, check=False, capture_output=True, timeout=120)
        assert done.returncode == -9, done.stderr[-2000:]

    return work


@pytest.mark.parametrize("step", ["copying", "on_node", "listing", "manifest_sha256"])
def test_a_snapshot_whose_worker_is_killed_is_done_by_the_next(
    backend, running, as_alice, carry_out, killed, step
):
    """B4, R1"""
    asked = take_snapshot(as_alice, running)
    killed(asked, step)

    done = carry_out(asked)

    assert done.usable
    assert backend.workspaces.clones.known(running.pk) == [asked.pk]
    (data(backend, running) / "goes").write_text("on")


@pytest.mark.parametrize("step", ["checking", "replacing"])
def test_a_restore_whose_worker_is_killed_is_done_by_the_next(
    backend, running, as_alice, carry_out, sweeping, killed, step
):
    """B4, R1: the old or the new workspace, never half."""
    (data(backend, running) / "file").write_text("old")
    before = carry_out(take_snapshot(as_alice, running))
    (data(backend, running) / "file").write_text("new")
    asked = restore_snapshot(as_alice, before)
    killed(asked, step)
    assert (data(backend, running) / "file").read_text() == "new"

    carry_out(asked)

    with backend.workspaces.clones.opened(running.pk, before.pk) as root:
        assert manifest.of(root / "data").digest == before.manifest_sha256
    wait_for(lambda: backend.workspaces.held(running.pk), 60)  # it comes up again by itself
    assert (data(backend, running) / "file").read_text() == "old"


def test_an_altered_copy_leaves_the_live_one_alone(backend, running, as_alice, carry_out, go):
    before = carry_out(take_snapshot(as_alice, running))
    Snapshot.objects.update(manifest_sha256="0" * 64)
    asked = restore_snapshot(as_alice, before)
    found = claim(type(asked), asked.agent.node, asked.pk)

    restoring.run(found, backend)

    asked.refresh_from_db()
    assert (asked.status, "not what it was" in asked.message) == ("failed", True)
    assert go(running).status == "running"


def test_a_fork_knows_what_its_origin_knew_and_then_goes_its_own_way(
    backend, running, as_alice, carry_out, go
):
    say(backend, running, f"Remember: the codeword is {CODEWORD}")
    taken = carry_out(take_snapshot(as_alice, running))

    twin = go(fork(as_alice, taken, name="twin"))

    assert twin.status == "running", (twin.reason, twin.message)
    assert CODEWORD in say(backend, twin, "What is the codeword?")
    say(backend, twin, "Remember: the codeword is wader-1")
    assert CODEWORD in say(backend, running, "What is the codeword?")
    held = [backend.keys.find(agent.pk) for agent in (running, twin)]
    assert held[0].token != held[1].token
    identity = backend.workspaces.points / twin.pk / "id" / "workspace.json"
    assert json.loads(identity.read_text())["workspace"] == twin.pk
