"""Checkpoints as an agent's program makes them: whole, in order, and inside the workspace."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtimes.base import roost_state
from runtimes.base.roost_state import StateError

MODULE = Path(roost_state.__file__)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROOST_STATE_HOME", str(tmp_path / "checkpoints"))
    return tmp_path / "checkpoints"


def run(*argv: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """The command, by an isolated Python as in an image."""
    command = [sys.executable, "-I", str(MODULE), *argv]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)


def test_what_was_saved_is_loaded() -> None:
    roost_state.save("plan", {"done": [1, 2], "name": "Ä €", "none": None})

    assert roost_state.load("plan") == {"done": [1, 2], "name": "Ä €", "none": None}


def test_before_the_first_there_is_the_default_and_nothing_is_made(home: Path) -> None:
    assert roost_state.load("counter", 7) == 7
    assert (roost_state.names(), roost_state.steps("counter")) == ([], [])
    assert not home.exists()


def test_a_saved_null_is_not_the_default() -> None:
    roost_state.save("plan", None)

    assert roost_state.load("plan", 7) is None


def test_each_time_has_the_next_number() -> None:
    assert [roost_state.save("a", n) for n in range(3)] == [1, 2, 3]
    roost_state.done("a", "x")

    (found,) = roost_state.checkpoints()
    assert (found.name, found.sequence, found.steps, found.value) == ("a", 4, ["x"], 2)


def test_a_file_is_json_as_a_whole_and_tells_of_itself_in_its_first_line(home: Path) -> None:
    roost_state.save("a", {"text": "one\ntwo"}, step="x")

    text = (home / "a.json").read_text()
    first = json.loads(text.partition("\n")[0].removesuffix(",") + "}")
    assert json.loads(text) == first | {"steps": ["x"], "value": {"text": "one\ntwo"}}
    assert (first["name"], first["steps_done"]) == ("a", 1)


def test_steps_are_kept_when_a_value_is_saved_and_values_when_a_step_is_done() -> None:
    roost_state.save("a", 1, step="x")
    roost_state.done("a", "y")
    roost_state.save("a", 2)

    assert (roost_state.load("a"), roost_state.steps("a")) == (2, ["x", "y"])
    assert roost_state.is_done("a", "y")
    assert not roost_state.is_done("a", "z")


def test_what_is_done_does_not_come_again() -> None:
    roost_state.done("import", "2")

    seen = list(roost_state.remaining("import", [1, 2, 3, 3]))

    assert seen == [1, 3]
    assert roost_state.steps("import") == ["2", "1", "3"]


def test_an_item_whose_work_failed_comes_again() -> None:
    for page in roost_state.remaining("import", "abc"):
        if page == "b":
            break

    assert list(roost_state.remaining("import", "abc")) == ["b", "c"]


def test_forgetting_takes_all_of_it_and_nothing_else(home: Path) -> None:
    for _ in range(2):
        roost_state.save("a", 1, step="x")
        roost_state.save("a.b", 1)
    roost_state.forget("a")
    roost_state.forget("a")

    assert (roost_state.load("a"), roost_state.steps("a")) == (None, [])
    assert sorted(os.listdir(home)) == ["a.b.json", "a.b.json.old"]


TORN = ["", "{", '{"format": 1, "name": "a"}', "[]", "null", "[" * 100_000,
        '{"format": 2, "name": "a", "saved_at": "", "sequence": 1, "steps": [], "value": 1}',
        '{"format": 1, "name": "b", "saved_at": "", "sequence": 1, "steps": [], "value": 1}',
        '{"format": 1, "name": "a", "saved_at": "", "sequence": 1, "steps": 5, "value": 1}',
        '{"format": 1, "name": "a", "saved_at": "", "sequence": 1, "steps": [5], "value": 1}',
        "\udcff"]  # fmt: skip


@pytest.mark.parametrize("text", TORN, ids=range(len(TORN)))
def test_a_torn_or_foreign_file_is_put_aside_for_the_one_before_it(
    home: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    roost_state.save("a", 1)
    roost_state.save("a", 2)
    (home / "a.json").write_bytes(os.fsencode(text))

    assert roost_state.load("a") == 1
    (aside,) = home.glob("a.json.broken-*")
    assert aside.read_bytes() == os.fsencode(text)
    assert f"put aside as {aside.name}" in capsys.readouterr().err
    assert roost_state.load("a") == 1
    assert capsys.readouterr().err == ""


def test_without_one_before_it_there_is_the_default(home: Path) -> None:
    roost_state.save("a", 1)
    (home / "a.json").write_text("torn")

    assert roost_state.load("a", "default") == "default"
    assert roost_state.save("a", 2) == 1


def test_of_many_broken_files_the_newest_are_kept(home: Path) -> None:
    for n in range(6):
        roost_state.save("a", n)
        (home / "a.json").write_text(f"torn {n}")
        roost_state.load("a")

    kept = sorted(home.glob("a.json.broken-*"))
    assert [file.read_text() for file in kept] == ["torn 3", "torn 4", "torn 5"]


def test_what_a_killed_writer_left_is_no_checkpoint_and_goes_with_the_next(home: Path) -> None:
    roost_state.save("a", 1)
    for leftover in (".a.json.tmp", ".a.old.tmp"):
        (home / leftover).write_text('{"format": 1')

    assert (roost_state.load("a"), roost_state.names()) == (1, ["a"])
    roost_state.save("a", 2)
    assert sorted(os.listdir(home)) == ["a.json", "a.json.old"]


def odd_link(file: Path) -> None:
    target = file.parent.parent / "outside.json"
    target.write_text(
        '{"format": 1, "name": "a", "saved_at": "", "sequence": 1, "steps": [], "value": "theirs"}'
    )
    file.symlink_to(target)


@pytest.mark.parametrize("make", [odd_link, Path.mkdir, os.mkfifo], ids=["link", "dir", "pipe"])
def test_what_is_no_file_is_put_aside_and_never_followed(home: Path, make) -> None:
    roost_state.save("b", 0)
    make(home / "a.json")

    assert roost_state.load("a", "mine") == "mine"
    roost_state.save("a", 1)
    assert roost_state.load("a") == 1
    outside = home.parent / "outside.json"
    assert not outside.exists() or "theirs" in outside.read_text()


def test_a_link_in_the_place_of_the_directory_is_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    home.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StateError, match="must be a directory and no link"):
        roost_state.save("a", 1)
    assert os.listdir(tmp_path / "elsewhere") == []


@pytest.mark.parametrize("name", ["", ".", "..", ".a", "a/b", "../a", "a\0", "ä", "a" * 101, "a\n"])
def test_a_name_is_no_path(name: str) -> None:
    for verb in (roost_state.load, roost_state.forget, lambda name: roost_state.save(name, 1)):
        with pytest.raises(StateError, match="A name has 1 to 100") as refused:
            verb(name)
        assert refused.value.misused


@pytest.mark.parametrize("value", [{1}, float("nan"), object(), "x" * roost_state.MOST_BYTES])
def test_what_cannot_be_saved_leaves_what_was(value: object) -> None:
    roost_state.save("a", 1)

    with pytest.raises(StateError, match="a was not saved"):
        roost_state.save("a", value)
    assert roost_state.load("a") == 1


@pytest.mark.parametrize("verb", ["fsync", "rename", "open", "link"])
def test_a_full_disk_says_so_and_leaves_what_was(
    home: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    roost_state.save("a", 1)

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        if verb == "open":  # only of what is to be written
            real = os.open
            patched.setattr(
                os, "open",
                lambda *args, **kw: full() if args[1] & os.O_CREAT else real(*args, **kw),
            )  # fmt: skip
        else:
            patched.setattr(os, verb, full)
        with pytest.raises(StateError, match="The workspace is full: make room in it"):
            roost_state.save("a", 2)
    assert roost_state.load("a") == 1
    assert ".a.json.tmp" not in os.listdir(home)


def test_a_place_outside_of_the_workspace_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("relative/place", "/"):
        monkeypatch.setenv("ROOST_STATE_HOME", place)
        with pytest.raises(StateError, match="must be a directory below /workspace"):
            roost_state.save("a", 1)


def test_in_a_container_only_the_workspace_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "isdir", lambda path: path == "/roost/id")

    monkeypatch.setenv("ROOST_STATE_HOME", "/workspace/../tmp/state")
    with pytest.raises(StateError, match="must be a directory below /workspace"):
        roost_state.path()
    monkeypatch.setenv("ROOST_STATE_HOME", "/workspace/state")
    assert roost_state.path() == "/workspace/state"
    monkeypatch.delenv("ROOST_STATE_HOME")
    assert roost_state.path() == "/workspace/.roost/checkpoints"


def test_the_command_saves_loads_and_lists(tmp_path: Path, home: Path) -> None:
    (tmp_path / "plan.json").write_text('{"n": 1}')

    assert run("save", "plan", str(tmp_path / "plan.json"), "--step", "one").returncode == 0
    assert run("save", "other", text="[2]").returncode == 0
    assert run("load", "plan").stdout == '{"n": 1}\n'
    assert [row["name"] for row in json.loads(run("list", "--json").stdout)] == ["other", "plan"]
    assert "1 step" in run("list").stdout
    assert run("path").stdout == f"{home}\n"


def test_the_command_answers_with_its_exit_code() -> None:
    assert run("is-done", "import", "one").returncode == 1
    assert run("done", "import", "one").returncode == 0
    assert run("is-done", "import", "one").returncode == 0
    assert run("forget", "import").returncode == 0
    assert run("load", "import").returncode == 1
    assert (run("load", "import", "--default", "0").stdout) == "0\n"


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["save", "../a"], 2, "A name has"),
        (["save", "a"], 2, "is not JSON"),
        (["save", "a", "/nowhere"], 3, "cannot be read"),
        (["load", "a", "--default", "{"], 2, "The default is not JSON"),
        (["dance"], 2, "invalid choice"),
    ],
)
def test_the_command_says_what_is_wrong(argv: list[str], code: int, said: str) -> None:
    told = run(*argv)

    assert (told.returncode, told.stdout) == (code, "")
    assert said in told.stderr
    assert "Traceback" not in told.stderr
