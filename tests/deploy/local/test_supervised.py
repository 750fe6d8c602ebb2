"""`up --services-only` as a person runs it, with its processes killed under it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from deploy.local import processes
from deploy.local.layout import Installation, from_environ
from deploy.local.seaweedfs import PORTS
from deploy.local.services import free_port
from deploy.local.supervisor import Supervisor

pytestmark = pytest.mark.stack
SERVICES = ["openbao", "postgres", "seaweedfs", "valkey"]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    state_dir = tmp_path_factory.mktemp("stack") / "var"
    return {"ROOST_STATE_DIR": str(state_dir), "ROOST_PORT": str(free_port(PORTS) - 4)}


@pytest.fixture(scope="module")
def own(environ: dict[str, str]) -> Installation:
    return from_environ({**os.environ, **environ}, os.geteuid())


@pytest.fixture(scope="module")
def run(environ: dict[str, str]) -> Run:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "deploy.local", *arguments],
            env={**os.environ, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture(scope="module")
def services(own: Installation, run: Run) -> Iterator[dict[str, str]]:
    started = run("up", "--services-only")
    assert started.returncode == 0, started.stdout + started.stderr
    yield json.loads((own.state_dir / "services.json").read_text())
    ended = run("clean", "--yes")
    assert ended.returncode == 0, ended.stderr
    assert not own.state_dir.exists()
    assert processes.marked(own.state_dir) == []


@pytest.mark.parametrize("name", SERVICES)
def test_a_killed_service_is_back_with_its_data(
    name: str, own: Installation, services: dict[str, str], run: Run
) -> None:
    _remember(services, name)
    killed = Supervisor(own).states()[name].pid
    os.kill(killed, signal.SIGKILL)
    _until(lambda: _running(own).get(name, killed) != killed)
    again = run("up", "--services-only")
    assert again.returncode == 0, again.stderr
    assert _remembered(services) == name


def test_every_process_can_be_told_to_be_ours(own: Installation, services: dict[str, str]) -> None:
    marked = {process.pid for process in processes.marked(own.state_dir)}
    supervisor = Supervisor(own).process()
    assert supervisor is not None
    assert {supervisor.pid, *_running(own).values()} <= marked


def test_a_second_up_takes_over_what_runs(
    own: Installation, services: dict[str, str], run: Run
) -> None:
    before = _running(own)
    assert sorted(before) == SERVICES
    began = time.monotonic()
    assert run("up", "--services-only").returncode == 0
    assert time.monotonic() - began < 15
    assert _running(own) == before


def test_services_whose_supervisor_was_killed_are_started_afresh(
    own: Installation, services: dict[str, str], run: Run
) -> None:
    _remember(services, "supervisor")
    before = _running(own)
    orphans = [processes.find(pid) for pid in before.values()]
    supervisor = Supervisor(own).process()
    assert supervisor is not None
    processes.send(supervisor, signal.SIGKILL)
    assert processes.wait_gone([supervisor], 5) == []
    assert run("up", "--services-only").returncode == 0
    assert set(_running(own).values()).isdisjoint(before.values())
    assert [orphan for orphan in orphans if orphan and processes.alive(orphan)] == []
    assert _remembered(services) == "supervisor"


def test_down_works_on_what_is_half_dead_and_keeps_the_data(
    own: Installation, services: dict[str, str], run: Run
) -> None:
    _remember(services, "down")
    before = [processes.find(pid) for pid in _running(own).values()]
    for victim in (Supervisor(own).process(), processes.find(_running(own)["openbao"])):
        assert victim is not None
        processes.send(victim, signal.SIGKILL)
    assert run("down").returncode == 0
    assert [one for one in before if one and processes.alive(one)] == []
    assert run("down").returncode == 0
    assert run("up", "--services-only").returncode == 0
    assert _remembered(services) == "down"


def test_status_tells_what_runs(run: Run, services: dict[str, str]) -> None:
    told = run("status")
    assert [line for line in SERVICES if f"\n{line:<10} RUNNING" in told.stdout] == SERVICES


def test_a_secret_is_in_no_log_and_on_no_command_line(
    own: Installation, services: dict[str, str]
) -> None:
    secrets = json.loads((own.state_dir / "secrets.json").read_text()).values()
    argv = [Path(f"/proc/{p.pid}/cmdline").read_text() for p in processes.marked(own.state_dir)]
    logs = [path.read_text() for path in own.log_dir.iterdir()]
    assert len(argv) >= 3
    assert [secret for secret in secrets if secret in "".join(argv + logs)] == []


def test_another_start_at_the_same_time_is_refused(
    own: Installation, environ: dict[str, str], services: dict[str, str], run: Run
) -> None:
    holder = "import sys; from pathlib import Path; from deploy.local import lock\n"
    holder += "with lock.held(Path(sys.argv[1])): print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(own.state_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout
        other.stdout.readline()
        refused = run("up", "--services-only")
        other.communicate()
    assert refused.returncode == 1
    assert f"(pid {other.pid})" in refused.stderr


def _remember(services: dict[str, str], word: str) -> None:
    with psycopg.connect(services["DATABASE_URL"]) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS word (id int PRIMARY KEY, word text)")
        connection.execute(
            "INSERT INTO word VALUES (1, %s) ON CONFLICT (id) DO UPDATE SET word = excluded.word",
            [word],
        )
    with redis.Redis.from_url(services["REDIS_URL"]) as client:
        client.set("word", word)
        # The append-only file is written through once a second: what is killed sooner may lose it.
        assert client.waitaof(1, 0, 5000) == [1, 0]


def _remembered(services: dict[str, str]) -> str:
    with psycopg.connect(services["DATABASE_URL"]) as connection:
        row = connection.execute("SELECT word FROM word").fetchone()
    with redis.Redis.from_url(services["REDIS_URL"]) as client:
        kept = client.get("word")
    assert row is not None
    assert kept == str(row[0]).encode()
    return str(row[0])


def _running(own: Installation) -> dict[str, int]:
    states = Supervisor(own).states()
    return {name: state.pid for name, state in states.items() if state.name == "RUNNING"}


def _until(true: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)
