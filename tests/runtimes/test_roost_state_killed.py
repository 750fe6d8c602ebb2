"""Programs of agents are killed (-9) in the middle; what they said was done is done.

The module and the examples of docs/state.md run as an agent runs them. Where each is killed is
drawn by chance, so each run of the suite looks at other moments.
"""

import os
import random
import select
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from runtimes.base import roost_state

MODULE = Path(roost_state.__file__)
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "state"
KILLS = 6


@dataclass
class Workspace:
    """Where programs run, as in a container: HOME is the workspace."""

    root: Path
    more: dict[str, str] = field(default_factory=dict)

    def start(self, *argv: str) -> "subprocess.Popen[str]":
        environment = {
            "HOME": str(self.root),
            "ROOST_STATE_HOME": str(self.root / "checkpoints"),
            "PYTHONPATH": str(MODULE.parent),
        }
        return subprocess.Popen(
            [sys.executable, "-S", *argv], env=environment | self.more, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, name: str, *argv: str, text: str = "") -> list[str]:
        """To its end; what it said."""
        process = self.start(str(EXAMPLES / name), *argv)
        said, errors = process.communicate(text, timeout=120)
        assert (process.returncode, errors) == (0, "")
        return said.splitlines()

    def killed(self, name: str, *argv: str, text: str = "", within: float = 0.15) -> list[str]:
        """Killed some moment after its first word; what it had said, whole lines only."""
        process = self.start(str(EXAMPLES / name), *argv)
        assert process.stdin is not None
        process.stdin.write(text)
        process.stdin.flush()
        wait_for_a_word(process)
        select.select([], [], [], random.uniform(0, within))  # noqa: S311
        return end(process)


def wait_for_a_word(process: "subprocess.Popen[str]") -> None:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], 60)
    assert ready, "it said nothing"


def end(process: "subprocess.Popen[str]") -> list[str]:
    process.send_signal(signal.SIGKILL)
    said, errors = process.communicate(timeout=60)
    assert errors == ""
    return said[: said.rfind("\n") + 1].splitlines()


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("ROOST_STATE_HOME", str(tmp_path / "checkpoints"))
    return Workspace(tmp_path)


def numbers(said: list[str]) -> list[int]:
    return [int(line.split()[-1]) for line in said]


def test_a_counter_goes_on_where_it_was(workspace: Workspace) -> None:
    last = 0
    for _ in range(KILLS):
        said = numbers(workspace.killed("counter.py"))

        assert said[0] in {last + 1, last + 2}  # saved, and killed before it was said
        assert said == list(range(said[0], said[0] + len(said)))
        last = said[-1]
        assert roost_state.load("counter") in {last, last + 1}


def test_fields_that_belong_together_agree(workspace: Workspace) -> None:
    text = "".join(f"note {n}\n" for n in range(300))
    said: list[int] = []
    for _ in range(KILLS):
        said += numbers(workspace.killed("json_state.py", text=text))

        state = roost_state.load("notes")
        assert len(state["notes"]) >= max(said)
        assert state["letters"] == sum(map(len, state["notes"]))


def test_every_commit_that_was_told_of_is_in_the_database(workspace: Workspace) -> None:
    text = "".join(f"entry {n}\n" for n in range(300))
    said: list[int] = []
    for _ in range(KILLS):
        said += numbers(workspace.killed("sqlite_state.py", text=text, within=0.4))

        ids = rows(workspace.root / "ledger.db", "SELECT id FROM entries")
        assert {(number,) for number in said} <= set(ids)
    backup = workspace.root / "ledger.backup.db"
    assert not backup.exists() or len(rows(backup, "SELECT id FROM entries")) % 50 == 0


def test_a_backup_is_a_whole_database(workspace: Workspace) -> None:
    workspace.run("sqlite_state.py", text="one\n" * 120)

    assert rows(workspace.root / "ledger.backup.db", "SELECT count(*) FROM entries") == [(100,)]


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    db = sqlite3.connect(path)
    try:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return db.execute(query).fetchall()
    finally:
        db.close()


def test_a_killed_workers_job_is_done_by_another(workspace: Workspace) -> None:
    names = [f"job-{n}" for n in range(40)]
    workspace.more["LEASE"] = "0.5"
    workspace.run("work_queue.py", "add", *names)
    said: list[str] = []
    for _ in range(KILLS):
        both = [workspace.start(str(EXAMPLES / "work_queue.py"), "work") for _ in range(2)]
        select.select([], [], [], random.uniform(0.05, 0.3))  # noqa: S311
        for process in both:
            said += end(process)
        jobs = roost_state.load("queue")
        assert all(jobs[line.split()[1]]["done"] for line in said)
    workspace.run("work_queue.py", "work")

    results = workspace.root / "results"
    assert {name: (results / f"{name}.txt").read_text() for name in names} == {
        name: f"result of {name}\n" for name in names
    }


def test_what_is_indexed_is_not_embedded_again(workspace: Workspace) -> None:
    notes = workspace.root / "notes"
    notes.mkdir()
    for n in range(200):
        (notes / f"{n:03}.txt").write_text(f"note {n}")
    said: list[str] = []
    for _ in range(KILLS):
        process = workspace.start(str(EXAMPLES / "embeddings_index.py"))
        select.select([], [], [], random.uniform(0.05, 0.3))  # noqa: S311
        said += end(process)
    said += workspace.run("embeddings_index.py")

    assert len(said) == len(set(said))
    index = notes / ".index.db"
    assert rows(index, "SELECT count(*) FROM vectors") == [(200,)]
    assert workspace.run("embeddings_index.py") == []


def test_an_index_of_another_version_or_a_torn_one_is_made_again(workspace: Workspace) -> None:
    notes = workspace.root / "notes"
    notes.mkdir()
    for name in ("a", "b"):
        (notes / f"{name}.txt").write_text(name)
    both = ["indexed a.txt", "indexed b.txt"]
    assert workspace.run("embeddings_index.py") == both

    (notes / "a.txt").write_text("changed")
    assert workspace.run("embeddings_index.py") == ["indexed a.txt"]
    workspace.more["EMBEDDING"] = "toy-embedding-2"
    assert workspace.run("embeddings_index.py") == both
    (notes / ".index.db").write_bytes(b"torn" * 1000)
    assert workspace.run("embeddings_index.py") == both


WRITER = """
import sys, roost_state
for n in range(1000):
    roost_state.done("shared", f"{sys.argv[1]}-{n}")
    print(f"{sys.argv[1]}-{n}", flush=True)
"""


@pytest.fixture
def writers(workspace: Workspace) -> Iterator["list[subprocess.Popen[str]]"]:
    started = [workspace.start("-c", WRITER, str(n)) for n in range(3)]
    yield started
    for process in started:
        process.kill()
        process.communicate()


def test_of_several_writers_none_loses_anothers_step(writers) -> None:
    for process in writers:
        wait_for_a_word(process)
    select.select([], [], [], 0.3)
    said = [line for process in writers for line in end(process)]

    assert {line.split("-")[0] for line in said} == {"0", "1", "2"}
    assert set(said) <= set(roost_state.steps("shared"))


ADDER = """
import roost_state
for _ in range(50):
    roost_state.update("sum", lambda n: n + 1, 0)
"""


def test_of_several_that_count_together_none_is_lost(workspace: Workspace) -> None:
    for process in [workspace.start("-c", ADDER) for _ in range(3)]:
        assert process.communicate(timeout=120) == ("", "")

    assert roost_state.load("sum") == 150


def test_every_example_of_the_page_is_run_here() -> None:
    page = (EXAMPLES.parents[1] / "state.md").read_text()
    here = Path(__file__).read_text()
    for file in os.listdir(EXAMPLES):
        if file.endswith(".py"):
            assert f"examples/state/{file}" in page
            assert f'"{file}"' in here


def test_the_counter_on_the_page_is_the_one_that_is_run() -> None:
    code = (EXAMPLES / "counter.py").read_text().partition("import")
    assert "import" + code[2] in (EXAMPLES.parents[1] / "state.md").read_text()
