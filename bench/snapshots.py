"""Snapshots, their off-site copies, restores and forks of 1 GiB, against restic alone and against
a plain create.

Sending is timed from the step `shipping` to the next: what comes before (copy, hashes) and after it
(read back, compare) is ours, and told apart. Restoring is all of it: an empty disk, what restic
writes, a comparison with the manifest, on disk at the end.
"""

import itertools
import os
import secrets
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from django.conf import settings

from bench import pairs, results
from bench.birth import status_of
from bench.installation import Installation, Stuck, wait
from bench.results import Figure, Result
from controlplane.agents.lifecycle import Status
from controlplane.jobs.models import JobStatus
from controlplane.snapshots.models import Snapshot
from provisioner.backend import Backend, get_backend
from provisioner.offsite import place
from provisioner.offsite.running import restic
from provisioner.snapshots import ship

FILES, SIZE = 1024, 1024 * 1024  # one GiB
CHANGED = 20  # files of a round: 2 %
DISK_GIB = 5
PAIRS = 6
FELT = 2  # snapshots beside which a program writes; it is in the way of what else is timed
OVER_S = 600
POLL = 0.05

HELD_S, SENT, SENT_BYTES, RESTORED, FORKED_S = 0.5, 1.15, 0.04, 1 / 0.85, 1.0


@dataclass(frozen=True)
class Tool:
    """restic as a person would run it: the same store, a repository of its own."""

    cache: Path
    where: str = "bench/tool"
    environment: dict[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    @contextmanager
    def ready(cls) -> Iterator["Tool"]:
        with TemporaryDirectory(prefix="roost-bench-restic-") as cache:
            tool = cls(Path(cache))
            tool.environment.update(
                PATH=os.environ["PATH"],
                AWS_ACCESS_KEY_ID=settings.S3_ACCESS_KEY_ID,
                AWS_SECRET_ACCESS_KEY=settings.S3_SECRET_ACCESS_KEY,
                RESTIC_CACHE_DIR=cache,
                RESTIC_PASSWORD=secrets.token_hex(16),
                RESTIC_REPOSITORY=f"s3:{settings.S3_ENDPOINT_URL}/{settings.S3_BUCKET}/{tool.where}",
            )
            tool.run("init")
            try:
                yield tool
            finally:
                place.bucket().delete_prefix(tool.where)

    def run(self, *words: str, folder: Path | None = None) -> float:
        begun = time.monotonic()
        argv = [restic(), "--quiet", *words]
        subprocess.run(argv, env=self.environment, cwd=folder, check=True, capture_output=True)
        return time.monotonic() - begun


@dataclass(frozen=True)
class Subject:
    """An agent with a workspace of 1 GiB."""

    installation: Installation
    id: str

    @property
    def data(self) -> Path:
        return self.installation.state / "workspaces" / self.id / "data"

    def write(self, numbers: range) -> None:
        folder = self.data / "bulk"
        folder.mkdir(exist_ok=True)
        for number in numbers:
            (folder / f"{number}.bin").write_bytes(os.urandom(SIZE))

    def snapshot(self) -> tuple[Snapshot, dict[str, float]]:
        """And for how many seconds each step of it was seen."""
        asked = self.installation.api("POST", f"/agents/{self.id}/snapshots", json={})["id"]
        spent: dict[str, float] = {}
        before, seen_at = "", time.monotonic()
        while True:
            row = Snapshot.objects.get(pk=asked)
            moment = time.monotonic()
            spent[before] = spent.get(before, 0.0) + moment - seen_at
            before, seen_at = row.step, moment
            if not row.under_way:
                break
            if sum(spent.values()) > OVER_S:
                raise Stuck(f"A snapshot is still at {row.step}.")
            time.sleep(POLL)
        if row.status != JobStatus.DONE or row.verified_at is None:
            raise Stuck(f"A snapshot ended as {row.status}: {row.message}")
        return row, spent


def measure(installation: Installation, count: int = PAIRS) -> Result:
    before, backend = results.load(), get_backend()
    agent = str(installation.api("POST", "/agents", json=_body("snapshots"))["id"])
    _wait_running(agent)
    subject = Subject(installation, agent)
    with Tool.ready() as tool:
        sent, rows, steps, waits = _sending(subject, tool, count)
        restored = _restoring(subject, backend, tool, rows[-1], count)
    forked = _forking(installation, rows[-1], count)
    figures = [
        Figure("snapshot of 1 GiB: an agent's write waits, longest", max(waits), HELD_S, "s"),
        Figure("2 % changed: sent / restic alone", pairs.ratio(sent), SENT),
        Figure("2 % changed: bytes sent / bytes there", _share(rows), SENT_BYTES),
        Figure("restored / restic alone", pairs.ratio(restored), RESTORED),
        Figure("fork of 1 GiB, beyond a plain create", _beyond(forked), FORKED_S, "s"),
    ]
    details = {
        "sent": pairs.told(sent),
        "restored": pairs.told(restored),
        "forked": pairs.told(forked),
        "steps_s": steps,
        "held_ms": [row.held_ms for row in rows],
    }
    return Result("snapshots", figures, (before, results.load()), details)


def _wait_running(agent: str) -> None:
    wait(lambda: status_of(agent) == Status.RUNNING, OVER_S, "a birth", POLL)


# --- taking and sending -----------------------------------------------------------------------
def _sending(
    subject: Subject, tool: Tool, count: int
) -> tuple[list[pairs.Pair], list[Snapshot], list[dict[str, float]], list[float]]:
    subject.write(range(FILES))
    rows, steps, waits = [], [], []

    def whole() -> float:
        os.sync()  # what went before is not paid for here
        row, spent = subject.snapshot()
        rows.append(row)
        steps.append({step: round(took, 3) for step, took in spent.items() if step})
        return spent["shipping"]

    def alone() -> float:
        os.sync()
        return tool.run("backup", str(subject.data))

    alone()  # the first of each sends all of it
    for _ in range(FELT):
        with _writing(subject.data) as waited:
            whole()
        waits.append(max(waited))
    rows.clear(), steps.clear()
    begins = itertools.count(0, CHANGED)

    def change() -> None:
        begin = next(begins)
        subject.write(range(begin, begin + CHANGED))

    found = list(pairs.alternate(alone, whole, count, before=change))
    return found, rows, steps, waits


@contextmanager
def _writing(folder: Path) -> Iterator[list[float]]:
    """For how long each write of a program in the workspace has to wait, in seconds."""
    waited, over = [0.0], threading.Event()

    def write() -> None:
        with (folder / "heartbeat").open("wb", buffering=0) as file:
            while not over.wait(0.002):
                begun = time.monotonic()
                file.write(b".")
                waited.append(time.monotonic() - begun)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield waited
    finally:
        over.set()
        thread.join()


def _share(rows: list[Snapshot]) -> float:
    return max(row.offsite_bytes / row.bytes for row in rows)


# --- bringing back ----------------------------------------------------------------------------
def _restoring(
    subject: Subject, backend: Backend, tool: Tool, snapshot: Snapshot, count: int
) -> list[pairs.Pair]:
    clones = backend.workspaces.clones
    assert clones is not None

    def whole() -> float:
        clones.drop(subject.id, snapshot.pk)
        os.sync()
        begun = time.monotonic()
        ship.bring(backend, clones, snapshot)
        return time.monotonic() - begun

    def alone() -> float:
        os.sync()
        with clones.scratch("bench", DISK_GIB) as root:
            took = tool.run("restore", "latest", "--target", str(root / "data"))
            begun = time.monotonic()
            subprocess.run(["sync", "-f", str(root)], check=True)
            return took + time.monotonic() - begun

    alone(), whole()
    return list(pairs.alternate(alone, whole, count))


# --- forking ----------------------------------------------------------------------------------
def _forking(installation: Installation, snapshot: Snapshot, count: int) -> list[pairs.Pair]:
    numbers = itertools.count()

    def plain() -> float:
        return _timed(installation, "/agents", _body(f"plain-{next(numbers)}"))

    def fork() -> float:
        path = f"/agents/{snapshot.agent_id}/snapshots/{snapshot.pk}/fork"
        return _timed(installation, path, {"name": f"fork-{next(numbers)}"})

    plain(), fork()
    return list(pairs.alternate(plain, fork, count))


def _body(name: str) -> dict[str, object]:
    return {"name": name, "runtime": "hermes", "disk_gib": DISK_GIB, "egress": "none"}


def _timed(installation: Installation, path: str, body: dict[str, object]) -> float:
    begun = time.monotonic()
    agent = str(installation.api("POST", path, json=body)["id"])
    _wait_running(agent)
    took = time.monotonic() - begun
    installation.delete(agent)
    return took


def _beyond(forked: list[pairs.Pair]) -> float:
    return median(pair.whole - pair.bare for pair in forked)
