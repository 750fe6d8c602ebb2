"""The doorman of Hermes' dashboard, as the process that it is."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from runtimes.hermes import doorman

TOKEN = "g" * 48
BEARER = {"Authorization": f"Bearer {TOKEN}"}
STAY = """
import sys
sys.path.insert(0, sys.argv[1])
import doorman
doorman.MANNERS = 0.2
dashboard = ["/bin/sh", "-c", "echo up; sleep 60 & wait"]
doorman.stay(lambda: doorman.spawn(dashboard), int(sys.argv[2]), sys.argv[3], float(sys.argv[4]))
"""


class Door:
    """A doorman at work."""

    def __init__(self, keys: Path, idle: float) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        folder = str(Path(doorman.__file__).parent)
        argv = [*("-I", "-S", "-c", STAY), folder, str(self.port), str(keys), str(idle)]
        self.process = subprocess.Popen([sys.executable, *argv], stdout=subprocess.DEVNULL)
        until(self.listens)

    def listens(self) -> bool:
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def ask(self, path: str = "/dashboard", **headers: str) -> int:
        url = f"http://127.0.0.1:{self.port}{path}"
        return httpx.post(url, headers=headers, trust_env=False).status_code

    def dashboards(self) -> list[int]:
        """Its children that have become what they are to be."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        found = [int(one) for one in children.read_text().split()]
        return [one for one in found if command(one).startswith(b"/bin/sh")]

    def dashboard(self) -> int:
        until(lambda: len(self.dashboards()) == 1)
        return self.dashboards()[0]

    def close(self) -> None:
        for one in self.dashboards():
            os.killpg(one, signal.SIGKILL)
        self.process.kill()
        self.process.wait()


def command(process: int) -> bytes:
    """Empty for what has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def children_of(process: int) -> list[int]:
    try:
        found = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return []
    return [int(one) for one in found.split()]


def until(check: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not check():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.02)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"gateway": TOKEN}))
    return path


@pytest.fixture
def door(keys: Path) -> Iterator[Door]:
    made = Door(keys, idle=60)
    yield made
    made.close()


def test_who_may_gets_the_dashboard_and_gets_it_once(door: Door) -> None:
    assert [door.ask(**BEARER) for _ in range(3)] == [202] * 3
    assert door.dashboard()


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Bearer x"}, {"Authorization": TOKEN}, {"Authorization": ""}],
)
def test_who_may_not_gets_nothing(door: Door, headers: dict[str, str]) -> None:
    assert door.ask(**headers) == 401
    assert door.dashboards() == []


def test_another_question_is_nobodys(door: Door) -> None:
    assert door.ask("/other", **BEARER) == 404


def test_a_dashboard_that_ended_is_started_anew(door: Door) -> None:
    door.ask(**BEARER)
    first = door.dashboard()
    os.killpg(first, signal.SIGKILL)
    until(lambda: door.dashboards() == [])
    door.ask(**BEARER)

    assert door.dashboard() != first


def test_what_nobody_wants_any_more_ends_with_all_it_began(keys: Path) -> None:
    door = Door(keys, idle=1)
    try:
        door.ask(**BEARER)
        leader = door.dashboard()
        until(lambda: bool(children_of(leader)))
        began = children_of(leader)
        until(lambda: door.dashboards() == [])
        until(lambda: not any(command(one) for one in began))
    finally:
        door.close()


def test_the_kernel_takes_the_dashboard_before_the_agent(door: Door) -> None:
    door.ask(**BEARER)

    assert Path(f"/proc/{door.dashboard()}/oom_score_adj").read_text() == "1000\n"


def test_a_visitor_without_manners_does_not_hold_the_door(door: Door) -> None:
    with socket.create_connection(("127.0.0.1", door.port)) as silent:
        silent.send(b"POST /dash")
        assert door.ask(**BEARER) == 202


def test_without_keys_it_says_so(door: Door, keys: Path) -> None:
    keys.unlink()

    assert door.ask(**BEARER) == 503


def test_it_becomes_what_it_was_asked_to_and_is_nobodys_child(tmp_path: Path) -> None:
    """With its door taken, so that it ends at once and this test leaves nothing behind."""
    with socket.create_server(("", doorman.PORT)):
        argv = [sys.executable, "-I", "-S", doorman.__file__, "/bin/sh", "-c", "echo $$"]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said, complained = process.communicate(timeout=30)

    assert int(said) == process.pid
    assert "Address already in use" in complained
