"""Workspaces that come and go as archives, on real disks and a real store, with workers that are
killed; and one file put back under a running agent."""

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import threading
from urllib.parse import urlsplit

import httpx
import pytest
from django.db import connection

from controlplane.agents.actions import stop_agent
from controlplane.agents.models import Agent
from controlplane.jobs.models import Job
from controlplane.portability.actions import begin_agent, export_workspace, open_import
from controlplane.portability.models import Import
from controlplane.snapshots.actions import restore_snapshot, take_snapshot
from controlplane.snapshots.models import Snapshot
from provisioner.offsite import objects, place
from provisioner.portability.export import key_of
from provisioner.snapshots import manifest
from provisioner.snapshots.difference import difference
from provisioner.workspaces.mounts import mounts_below
from runtimes.catalog import CATALOG
from runtimes.references import image_of
from tests.engine.talk import say

CODEWORD = "heron-4711"
OWNER = 10001


@pytest.fixture
def stored(settings, store):
    """This node has the store."""
    for name, value in store.items():
        setattr(settings, name, value)
    settings.ROOST_ARCHIVES = True
    place.bucket().ensure()


@pytest.fixture
def data(backend, running):
    """Every kind of thing that an agent can make, in its live workspace."""
    found = backend.workspaces.points / running.pk / "data"
    (found / "notes").mkdir()
    (found / "notes" / "plan.md").write_text("one")
    os.link(found / "notes" / "plan.md", found / "same.md")
    os.setxattr(found / "notes" / "plan.md", "user.mood", b"calm\0\xff")
    with (found / "sparse").open("wb") as file:
        file.truncate(500 * 1024**2)
        file.seek(300 * 1024**2)
        file.write(os.urandom(5000))
    open(os.fsencode(found) + b"/odd\xff\nname", "wb").close()
    os.symlink("/usr/bin/python3", found / "python")
    many = found / "many"
    many.mkdir()
    for number in range(10_000):
        (many / f"{number}.txt").write_text(str(number))
    for folder, folders, files in os.walk(found):
        for name in [*folders, *files]:
            os.chown(os.path.join(folder, name), OWNER, OWNER, follow_symlinks=False)
    return found


@pytest.fixture
def bring(as_alice, stored):
    """Upload an archive and begin an agent with it; the import."""

    def begin(archive: bytes, name: str = "heron", runtime: str = "hermes", **more) -> Import:
        found = open_import(as_alice)
        key = place.import_key(found.organisation_id, found.pk)
        objects.put_stream(place.bucket(), io.BytesIO(archive), key)
        size = {"size": "small"} if runtime == "hermes" else {}
        begin_agent(
            as_alice, found, name=name, runtime=runtime, disk_gib=1, egress="none", **size, **more
        )
        return Import.objects.get(pk=found.pk)

    return begin


def download(export) -> bytes:
    link = place.bucket().presigned_get(key_of(export), 60, export.filename)
    found = httpx.get(link, trust_env=False, timeout=120)
    assert hashlib.sha256(found.content).hexdigest() == export.sha256
    return found.content


def nothing_left(backend) -> None:
    assert mounts_below(backend.workspaces.clones.looks.folder) == []
    assert list(backend.workspaces.pool.glob("snapshots/*/*.part")) == []


def test_what_was_exported_begins_as_another_agent_byte_for_byte(
    backend, running, as_alice, carry_out, data, stored, bring, go
):
    """B2, and no lock-in: what the first remembers, the second does."""
    say(backend, running, f"Remember: the codeword is {CODEWORD}")
    taken = carry_out(take_snapshot(as_alice, running))
    export = carry_out(export_workspace(as_alice, running, snapshot=taken))
    assert export.status == "done", (export.reason, export.message)

    done = carry_out(bring(download(export)))

    assert done.status == "done", (done.reason, done.message)
    clones = backend.workspaces.clones
    with (
        clones.opened(running.pk, taken.pk) as before,
        clones.opened(done.agent_id, done.becomes) as after,
    ):
        seen = difference(manifest.of(before / "data"), manifest.of(after / "data"))
        assert seen.nothing, str(seen)
        assert (after / "data" / "sparse").stat().st_blocks * 512 < 1024**2
    heron = go(Agent.objects.get(name="heron"))
    assert heron.status == "running", (heron.reason, heron.message)
    assert CODEWORD in say(backend, heron, "What is the codeword?")
    assert backend.keys.find(heron.pk).token != backend.keys.find(running.pk).token
    nothing_left(backend)


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
    if step.startswith("before "):
        if columns.get("status") == "done":
            os.kill(os.getpid(), 9)
    real(self, **columns)
    if step in (columns.get("step"), *columns):
        os.kill(os.getpid(), 9)
type(found).write = write
if step == "in the middle":
    from provisioner.offsite import objects
    pieces = objects._pieces
    def some(body):
        yield next(pieces(body))[:3000]
        os.kill(os.getpid(), 9)
    objects._pieces = some
if step == "placing":
    from provisioner.snapshots import placing
    rename = os.rename
    def killed(*args, **more):
        os.kill(os.getpid(), 9)
    placing.os.rename = killed
KINDS[kind].run(found, backend)
"""


@pytest.fixture
def killed(services, state, store):
    """A worker that ends by kill -9 right after it has written that it is at a step."""
    base = urlsplit(services["DATABASE_URL"])
    environment = {
        **os.environ,
        **store,
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


STEPS = ["copying", "checking", "sending", "reading_back", "in the middle", "sha256", "before done"]


@pytest.mark.parametrize("step", STEPS)
def test_an_export_whose_worker_is_killed_is_done_by_the_next(
    backend, running, as_alice, carry_out, stored, killed, step
):
    """R1"""
    asked = export_workspace(as_alice, running)
    killed(asked, step)

    done = carry_out(asked)

    assert done.status == "done", (done.reason, done.message)
    download(done)
    assert Snapshot.objects.filter(agent=running).count() == 1
    nothing_left(backend)


@pytest.mark.parametrize("step", ["unpacking", "in the middle", "checking", "before done"])
def test_an_import_whose_worker_is_killed_is_done_by_the_next(
    backend, running, as_alice, carry_out, stored, killed, bring, go, step
):
    """R1: the whole workspace or none."""
    exported = download(carry_out(export_workspace(as_alice, running)))
    asked = bring(exported)
    killed(asked, step)
    assert go(asked.agent).reason == "importing"

    done = carry_out(asked)

    assert done.status == "done", (done.reason, done.message)
    assert Snapshot.objects.get(pk=asked.becomes).usable
    nothing_left(backend)


@pytest.mark.parametrize("step", ["checking", "keeping", "writing", "placing", "before done"])
def test_a_file_whose_worker_is_killed_is_put_back_by_the_next(
    backend, running, as_alice, carry_out, killed, step
):
    """B4: the old file or the new one, never half."""
    file = backend.workspaces.points / running.pk / "data" / "plan.md"
    file.write_text("old")
    before = carry_out(take_snapshot(as_alice, running))
    file.write_text("new")
    asked = restore_snapshot(as_alice, before, path="plan.md")
    killed(asked, step)
    assert file.read_text() in {"old", "new"}

    done = carry_out(asked)

    assert (done.status, file.read_text()) == ("done", "old"), done.message
    assert list(file.parent.glob(".rst_*")) == []
    kept = carry_out(Snapshot.objects.get(pk=done.keep_as))
    with backend.workspaces.clones.opened(running.pk, kept.pk) as root:
        assert (root / "data" / "plan.md").read_text() == "new"
    assert Agent.objects.get().status == "running"


def test_a_stopped_agents_disk_is_mounted_for_it_and_let_go_of(
    backend, running, as_alice, carry_out, go
):
    file = backend.workspaces.points / running.pk / "data" / "mem.db"
    file.write_text("old")
    before = carry_out(take_snapshot(as_alice, running))
    file.write_text("new")
    stop_agent(as_alice, running)
    assert go(running).status == "stopped"

    done = carry_out(restore_snapshot(as_alice, before, path="mem.db"))

    assert done.status == "done", (done.reason, done.message)
    assert not backend.workspaces.held(running.pk)
    with backend.workspaces.clones.live(running.pk) as data:
        assert (data / "mem.db").read_text() == "old"
        # One who is killed here leaves the mount to the next start, and its agent runs programs.
        assert not os.statvfs(data).f_flag & os.ST_NOEXEC


def test_an_agent_that_swaps_folders_for_links_meanwhile_gains_nothing(
    backend, running, as_alice, carry_out, tmp_path
):
    """T12"""
    data = backend.workspaces.points / running.pk / "data"
    (data / "notes").mkdir()
    for number in range(200):
        (data / "notes" / f"{number}.md").write_text("old")
    before = carry_out(take_snapshot(as_alice, running))
    outside, stop = tmp_path / "outside", threading.Event()
    outside.mkdir()

    def swap() -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError):
                (data / "notes").rename(data / "aside")
                os.symlink(outside, data / "notes")
            with contextlib.suppress(OSError):
                (data / "notes").unlink()
                (data / "aside").rename(data / "notes")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(5):
            carry_out(restore_snapshot(as_alice, before, path="notes"))
    finally:
        stop.set()
        swapper.join()

    assert os.listdir(outside) == []


def archive_of(*files: tuple[str, bytes], runtime: str = "") -> bytes:
    buffer = io.BytesIO()
    label = json.dumps({"format": 1, "runtime": runtime}).encode()
    named = [("roost-export.json", label), *files] if runtime else files
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in named:
            made = tarfile.TarInfo(f"workspace/{name}" if runtime and ".json" not in name else name)
            made.size = len(content)
            tar.addfile(made, io.BytesIO(content))
    return buffer.getvalue()


def test_a_bomb_fills_nobodys_disk(backend, running, carry_out, stored, bring, go):
    """T11, L2"""
    free = backend.workspaces.room().free
    bomb = archive_of(*[(f"{number}", bytes(100 * 1024**2)) for number in range(12)])

    done = carry_out(bring(bomb))

    assert (done.status, done.reason) == ("failed", "archive_too_large")
    agent = go(Agent.objects.get(name="heron"))
    assert (agent.status, agent.reason) == ("failed", "import_failed")
    assert not backend.workspaces.clones.has(agent.pk, done.becomes)
    assert free - backend.workspaces.room().free < 100 * 1024**2
    assert Agent.objects.get(pk=running.pk).status == "running"
    nothing_left(backend)


def test_hermes_takes_over_what_openclaw_left(backend, running, carry_out, stored, bring, go):
    left = archive_of(
        (".openclaw/identity/device.txt", b"x"),
        ("agent/SOUL.md", b"# Soul\nBe kind\n"),
        ("agent/MEMORY.md", f"# Memory\n- The codeword is {CODEWORD}\n".encode()),
        runtime="openclaw",
    )

    done = carry_out(bring(left))

    assert done.status == "done", (done.reason, done.message)
    assert "Migration complete" in done.report
    heron = go(Agent.objects.get(name="heron"))
    assert heron.status == "running", (heron.reason, heron.message)
    data = backend.workspaces.points / heron.pk / "data"
    assert CODEWORD in (data / ".hermes" / "memories" / "MEMORY.md").read_text()
    assert "Be kind" in (data / ".hermes" / "SOUL.md").read_text()
    assert (data / "from-openclaw" / ".openclaw" / "workspace" / "SOUL.md").exists()
    nothing_left(backend)


def test_openclaw_takes_over_what_hermes_left(backend, carry_out, stored, bring, as_alice):
    image = image_of(CATALOG["openclaw"])
    assert backend.engine.has_image(image), f"{image} is built by `make images`"
    left = archive_of(
        (".hermes/SOUL.md", b"# Soul\nBe kind\n"),
        (".hermes/memories/MEMORY.md", f"The codeword is {CODEWORD}\n".encode()),
        runtime="hermes",
    )

    done = carry_out(bring(left, runtime="openclaw"))

    assert done.status == "done", (done.reason, done.message)
    assert "Migration plan: hermes" in done.report
    with backend.workspaces.clones.opened(done.agent_id, done.becomes) as root:
        data = root / "data"
        assert CODEWORD in (data / "agent" / "MEMORY.md").read_text()
        assert "Be kind" in (data / "agent" / "SOUL.md").read_text()
        assert (data / "agent" / "MEMORY.md").stat().st_uid == OWNER
    nothing_left(backend)
