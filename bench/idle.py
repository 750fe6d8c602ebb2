"""What 1,000 agents cost that nobody talks to: processor time, and the queries of a sweep.

The engine is the shipped fake, so this is the control plane's own cost: its node process (run
here), worker, web and gateway. The database's is told beside it.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from celery import current_app
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from bench import crowd, processes, results
from bench.results import Figure, Result
from provisioner import node, rounds, watch
from provisioner.backend import Backend, get_backend
from provisioner.crew import Crew

SIZES = (0, 100, 1000)
TARGET_PERCENT = 2.0
WINDOW_S = 90.0
QUIET_S = 5.0
ASGI = ("-m", "uvicorn", "--port", "0", "--log-level", "warning")
OTHERS = {
    "web": (*ASGI, "controlplane.asgi:application"),
    "gateway": (*ASGI, "provisioner.gateway.asgi:application"),
    "worker": ("-m", "celery", "-A", "controlplane", "worker", "--pool", "threads",
               "--concurrency", "8", "--without-gossip", "--without-mingle"),
}  # fmt: skip


def measure() -> Result:
    backend, queries = get_backend(), {}
    for size in SIZES:
        crowd.settle(backend, size)
        queries[size] = _queries(backend)
    # The engine in memory belongs to this process: another worker would find nothing there.
    current_app.control.purge()
    before = results.load()
    percent = _percent(backend)
    crowd.check_settled()
    own = sum(used for name, used in percent.items() if name != "database")
    none, few, many = (queries[size] for size in SIZES)
    figures = [
        Figure(f"control plane with {SIZES[-1]} idle agents, of a core", own, TARGET_PERCENT, "%"),
        *(Figure(f"  {name}", used, unit="%") for name, used in percent.items()),
        Figure(f"queries of one sweep at {SIZES[1]}", few["sweep"], none["sweep"]),
        *(Figure(f"queries of one {job} at {SIZES[-1]}", many[job], few[job]) for job in many),
    ]
    counted = {str(size): found for size, found in queries.items()}
    return Result("idle", figures, (before, results.load()), {"queries": counted})


def _queries(backend: Backend) -> dict[str, int]:
    crew = Crew(backend)
    asked = rounds.Rounds(backend, crew)
    jobs: dict[str, Callable[[], object]] = {
        "sweep": lambda: rounds.sweep(crew),
        "comparison": lambda: watch.compare(backend, crew),
        "round": asked.ask,
    }
    found = {}
    for name, job in jobs.items():
        with CaptureQueriesContext(connection) as captured:
            job()
        found[name] = len(captured)
    crew.stop()
    return found


def _percent(backend: Backend) -> dict[str, float]:
    """Of one core, by process, while nothing happens."""
    stop = threading.Event()
    thread = threading.Thread(target=node.run, args=(backend, stop), name="node")
    thread.start()
    try:
        with _others() as pids:
            _wait_quiet(backend)
            pids = {"node": os.getpid(), **pids}
            begun, first = time.monotonic(), _used(pids)
            time.sleep(WINDOW_S)
            last, took = _used(pids), time.monotonic() - begun
            return {name: 100 * (last[name] - first[name]) / took for name in last}
    finally:
        stop.set()
        thread.join()


def _used(pids: dict[str, int]) -> dict[str, float]:
    own = {name: processes.seconds(pid) for name, pid in pids.items()}
    return {**own, "database": processes.with_children(_postmaster())}


@contextmanager
def _others() -> Iterator[dict[str, int]]:
    running = {name: subprocess.Popen([sys.executable, *argv]) for name, argv in OTHERS.items()}
    try:
        yield {name: process.pid for name, process in running.items()}
        ended = [name for name, process in running.items() if process.poll() is not None]
        assert not ended, f"{ended} ended by themselves"
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait(30)


def _wait_quiet(backend: Backend) -> None:
    """At its start the node looks at every agent once, and processes load their code."""
    looks = -1
    while looks != (now := backend.engine.calls.count("inspect")):  # type: ignore[attr-defined]
        looks = now
        time.sleep(QUIET_S)


def _postmaster() -> int:
    found = next(Path(settings.ROOST_STATE_DIR).rglob("postmaster.pid"))
    return int(found.read_text().split("\n", 1)[0])
