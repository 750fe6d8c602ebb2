"""Scans as processes: who takes one up, and what becomes of it when the process is killed."""

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.utils.timezone import now

from controlplane.agents.actions import create_agent
from controlplane.jobs.claim import Claim, ClaimLost, claim
from controlplane.scans.actions import start_scan
from controlplane.scans.models import Scan
from provisioner import tasks
from provisioner.jobs import launch

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def started(monkeypatch):
    """Who was started, in the place of processes."""
    found: list[Claim] = []
    monkeypatch.setattr(launch, "start", found.append)
    return found


def ids(started) -> list[str]:
    return [one.job_id for one in started]


def test_the_sweep_finds_what_no_message_told(as_alice, agent, started):
    scan = start_scan(as_alice, agent)

    assert (launch.sweep(), launch.sweep()) == (1, 0)
    assert ids(started) == [scan.pk]
    assert Scan.objects.get().status == "running"


def test_a_nudge_and_a_sweep_together_are_one_scan(as_alice, agent, started):
    scan = start_scan(as_alice, agent)

    tasks.begin_job("scans.scan", scan.pk)
    launch.sweep()
    tasks.begin_job("scans.scan", scan.pk)

    assert ids(started) == [scan.pk]


def test_another_nodes_scan_is_left_alone(as_alice, agent, started, settings):
    start_scan(as_alice, agent)
    settings.ROOST_NODE = "node-2"

    assert launch.sweep() == 0


def test_a_node_runs_few_at_a_time(as_alice, agent, started):
    for name in ("b", "c"):
        start_scan(as_alice, create_agent(as_alice, name=name, runtime="hermes"))
    last = start_scan(as_alice, agent)

    assert launch.sweep() == Scan.AT_ONCE == 2
    Scan.objects.exclude(pk=last.pk).update(status="done", lease_until=None)
    launch.sweep()

    assert ids(started)[-1] == last.pk


def test_whose_process_is_gone_is_taken_up_again_under_a_new_fence(as_alice, agent, started):
    start_scan(as_alice, agent)
    launch.sweep()
    Scan.objects.update(lease_until=now() - timedelta(seconds=1))

    launch.sweep()

    assert [one.fence for one in started] == [1, 2]
    with pytest.raises(ClaimLost):
        started[0].renew()


def test_what_dies_again_and_again_ends_with_a_reason(as_alice, agent, started):
    start_scan(as_alice, agent)
    for _ in range(Scan.ATTEMPTS + 2):
        launch.sweep()
        Scan.objects.update(lease_until=now() - timedelta(seconds=1))

    scan = Scan.objects.get()
    assert len(started) == Scan.ATTEMPTS
    assert (scan.status, scan.reason) == ("failed", "worker_died")
    assert "Start a new scan" in scan.message


def test_what_takes_too_long_is_given_up_and_its_process_finds_out(as_alice, agent, started):
    start_scan(as_alice, agent)
    launch.sweep()
    Scan.objects.update(deadline_at=now() - timedelta(seconds=1))

    launch.sweep()

    assert Scan.objects.get().reason == "took_too_long"
    with pytest.raises(ClaimLost):
        started[0].write(findings=1)


def test_a_settled_node_asks_one_question(agent, started, django_assert_num_queries):
    with django_assert_num_queries(1):
        launch.sweep()


@pytest.fixture
def outside(node, services, monkeypatch):
    """Processes that are started reach this test's database, with the fake engine."""
    base = urlsplit(services["DATABASE_URL"])
    database = base._replace(path="/" + connection.settings_dict["NAME"]).geturl()
    monkeypatch.setenv("DATABASE_URL", database)
    monkeypatch.setenv("REDIS_URL", services["REDIS_URL"])
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "controlplane.settings.test")
    monkeypatch.setenv("ROOST_STATE_DIR", str(node.state))
    return node


def wait_for(check) -> None:
    end = time.monotonic() + 60
    while not check():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.1)


def long_logs(folder: Path) -> list[Path]:
    """Sixty gigabytes to read, one file under many names: no machine is done with them before its
    scan is killed, and they take the room of one."""
    first = folder / "long-0"
    first.write_bytes(b"long " * 20_000_000)
    names = [folder / f"long-{number}" for number in range(1, 600)]
    for name in names:
        name.hardlink_to(first)
    return [first, *names]


def test_a_process_makes_the_report(as_alice, agent, outside):
    scan = start_scan(as_alice, agent)

    assert launch.start(claim(Scan, agent.node, scan.pk)).wait(60) == 0

    scan.refresh_from_db()
    assert (scan.status, scan.attempts) == ("done", 1)
    assert scan.report["report"]["agent"] == agent.pk


def test_a_killed_process_leaves_a_scan_that_is_done_by_the_next(as_alice, agent, outside):
    logs = long_logs(outside.state / "log")
    scan = start_scan(as_alice, agent)
    process = launch.start(claim(Scan, agent.node, scan.pk))
    wait_for(lambda: Scan.objects.get().bytes_read > 0)

    process.send_signal(signal.SIGKILL)
    process.wait(10)
    for path in logs:
        path.unlink()
    Scan.objects.update(lease_until=now() - timedelta(seconds=1))
    again = launch.start(claim(Scan, agent.node, scan.pk))

    assert again.wait(60) == 0
    scan.refresh_from_db()
    assert (scan.status, scan.attempts) == ("done", 2)


STARTER = "import subprocess, sys; print(subprocess.Popen(sys.argv[1:]).pid, flush=True); input()"


def test_a_process_ends_with_the_node_that_started_it(as_alice, agent, outside):
    long_logs(outside.state / "log")
    start_scan(as_alice, agent)
    found = claim(Scan, agent.node)
    argv = [sys.executable, "-m", "django", "job", "scans.scan", found.job_id, str(found.fence)]
    node = subprocess.Popen(
        [sys.executable, "-c", STARTER, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    pid = int(node.stdout.readline())
    wait_for(lambda: Scan.objects.get().bytes_read > 0)

    node.kill()
    node.communicate()

    wait_for(lambda: not alive(pid))
    assert Scan.objects.get().status == "running"  # until its claim runs out


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (OSError, ValueError):
        return False


def test_a_value_is_on_no_command_line(as_alice, agent, outside, monkeypatch):
    started = []
    monkeypatch.setattr(
        subprocess, "Popen", lambda argv, **options: started.append(argv) or Ended()
    )
    scan = start_scan(as_alice, agent)

    launch.nudge("scans.scan", scan.pk)

    assert started == [[sys.executable, "-m", "django", "job", "scans.scan", scan.pk, "1"]]


class Ended:
    def wait(self) -> int:
        return 0
