"""Reading checkpoints out of a workspace whose agent means ill."""

import json
import os
import threading
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pytest

from provisioner import checkpoints
from provisioner.checkpoints import Checkpoint, read_checkpoints
from runtimes.base import roost_state

AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SECRET = "s3cret-of-somebody-else"
HEAD = {"format": 1, "name": "a", "saved_at": "2026-11-30T11:58:30.5Z", "sequence": 4,
        "steps_done": 2}  # fmt: skip


def text(value: object = 5, **changes: object) -> str:
    return json.dumps(HEAD | changes)[:-1] + f',\n"steps": [],\n"value": {json.dumps(value)}}}\n'


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def folder(workspace: Path) -> Path:
    made = workspace / ".roost" / "checkpoints"
    made.mkdir(parents=True)
    return made


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of somebody else with a checkpoint in it."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "a.json").write_text(text(name="a", saved_at=HEAD["saved_at"]))
    (theirs / "secret").write_text(SECRET)
    return theirs


def only(workspace: Path) -> Checkpoint:
    (found,) = read_checkpoints(workspace, AT).checkpoints
    return found


def test_it_reads_what_agents_write(workspace: Path, folder: Path, monkeypatch) -> None:
    monkeypatch.setenv("ROOST_STATE_HOME", str(folder))
    roost_state.save("plan", {"text": SECRET}, step="one")
    roost_state.save("plan", {"text": SECRET}, step="two")
    (written,) = roost_state.checkpoints()

    found = only(workspace)

    assert (found.name, found.saved_at, found.sequence, found.steps_done, found.bytes) == (
        "plan", written.saved_at, 2, 2, written.bytes,
    )  # fmt: skip
    assert (found.broken, found.why, found.put_aside) == (False, "", 0)


def test_both_sides_agree_on_their_bounds() -> None:
    assert (checkpoints.FORMAT, checkpoints.MOST_BYTES) == (
        roost_state.FORMAT,
        roost_state.MOST_BYTES,
    )
    assert checkpoints.FOLDERS == roost_state.INSIDE
    longest = json.dumps(HEAD | {"name": "a" * 100, "sequence": 2**53, "steps_done": 2**53})
    assert len(longest) < checkpoints.MOST_HEAD


def test_the_age_is_by_the_nodes_clock_and_never_before_now(workspace: Path, folder: Path) -> None:
    (folder / "a.json").write_text(text())
    assert only(workspace).age_s == 89

    (folder / "a.json").write_text(text(saved_at="2099-01-01T00:00:00Z"))
    assert only(workspace).age_s == 0


def test_without_a_folder_there_are_none(workspace: Path) -> None:
    assert asdict(read_checkpoints(workspace)) == {"checkpoints": [], "note": ""}


def test_a_workspace_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_checkpoints(tmp_path / "nowhere")


def test_never_a_value(workspace: Path, folder: Path) -> None:
    (folder / "a.json").write_text(text(SECRET))
    (folder / "b.json").write_text(SECRET)

    assert SECRET not in json.dumps(asdict(read_checkpoints(workspace)))


def test_other_files_are_not_told_of(workspace: Path, folder: Path) -> None:
    for name in (".a.json.tmp", "a.json.old", "notes.txt", "ä.json", "a\n.json", ".json"):
        (folder / name).write_text(text())
    (folder / os.fsdecode(b"\xff.json")).write_text(text())

    assert read_checkpoints(workspace).checkpoints == []


ODD = ["", "{}\n", "[]\n", "null,\n}\n", text()[:-9], text(name="b"), text(format=2),
       text(sequence="4"), text(sequence=-1), text(sequence=True), text(sequence=10**30),
       text(steps_done=None), text(steps_done=1.5), text(saved_at=None), text(saved_at="<b>"),
       text(saved_at="2026-13-30T11:58:30Z"), text(saved_at="2026-11-30T11:58:30"),
       text(saved_at="٢٠٢٦-11-30T11:58:30Z"), "[" * 5000 + ",\n}\n", text(more="x" * 5000),
       '{"sequence": ' + "9" * 4000 + ",\n}\n", "\0" * 5000 + "}\n"]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_what_is_no_checkpoint_is_told_as_broken(workspace: Path, folder: Path, odd: str) -> None:
    (folder / "a.json").write_text(odd)

    assert only(workspace) in [
        Checkpoint("a", bytes=len(odd.encode()), broken=True, why=why)
        for why in (checkpoints.TORN, checkpoints.FOREIGN)
    ]


def test_a_file_without_end_is_not_read(workspace: Path, folder: Path) -> None:
    (folder / "a.json").write_text(text())
    os.truncate(folder / "a.json", 2**40)

    assert only(workspace) == Checkpoint("a", bytes=2**40, broken=True, why=checkpoints.TOO_LARGE)


def link(file: Path, outside: Path) -> None:
    file.symlink_to(outside / "a.json")


def pipe(file: Path, outside: Path) -> None:
    os.mkfifo(file)


def directory(file: Path, outside: Path) -> None:
    file.mkdir()


def device(file: Path, outside: Path) -> None:
    if os.geteuid():
        pytest.skip("only root makes devices")
    os.mknod(file, 0o600 | 0o020000, os.makedev(1, 5))


@pytest.mark.parametrize("make", [link, pipe, directory, device])
def test_what_is_no_file_is_not_opened(workspace: Path, folder: Path, outside: Path, make) -> None:
    make(folder / "a.json", outside)

    assert only(workspace) == Checkpoint("a", broken=True, why=checkpoints.NO_FILE)


@pytest.mark.parametrize("part", [".roost", ".roost/checkpoints"])
@pytest.mark.parametrize("kind", ["link", "file", "pipe"])
def test_what_is_no_folder_leads_nowhere(
    workspace: Path, folder: Path, outside: Path, part: str, kind: str
) -> None:
    (outside / "checkpoints").symlink_to(outside)
    place = workspace / part
    place.rename(workspace / "away")
    if kind == "link":
        place.symlink_to(outside)
    elif kind == "file":
        place.write_text(text())
    else:
        os.mkfifo(place)

    found = read_checkpoints(workspace)
    assert (found.checkpoints, found.note) == ([], checkpoints.NO_FOLDER)


@pytest.mark.parametrize("part", [".roost", ".roost/checkpoints", ".roost/checkpoints/a.json"])
def test_what_is_swapped_for_a_link_meanwhile_never_leads_out(
    workspace: Path, folder: Path, outside: Path, part: str
) -> None:
    """T12. The two differ in their number: theirs must never be told."""
    theirs = outside / ("a.json" if part.endswith("json") else "a")
    (outside / "a.json").write_text(text(sequence=666))
    (outside / "checkpoints").symlink_to(outside)
    (folder / "a.json").write_text(text())
    place, away, end = workspace / part, workspace / "away", threading.Event()
    target = theirs if part.endswith("json") else outside

    def swap() -> None:
        while not end.is_set():
            place.rename(away)
            place.symlink_to(target)
            place.unlink()
            away.rename(place)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        seen = {
            row.sequence for _ in range(2000) for row in read_checkpoints(workspace).checkpoints
        }
    finally:
        end.set()
        thread.join()
    assert seen <= {4, None}


def test_a_link_that_comes_between_the_look_and_the_opening_is_not_followed(
    workspace: Path, folder: Path, outside: Path, monkeypatch
) -> None:
    (folder / "a.json").write_text(text())
    look = os.lstat

    def look_then_swap(file: str, dir_fd: int) -> os.stat_result:
        seen = look(file, dir_fd=dir_fd)
        (folder / file).unlink()
        (folder / file).symlink_to(outside / file)
        return seen

    monkeypatch.setattr(os, "lstat", look_then_swap)
    assert only(workspace) == Checkpoint("a", broken=True, why=checkpoints.UNREADABLE)


def test_what_was_put_aside_is_counted(workspace: Path, folder: Path) -> None:
    (folder / "a.json").write_text(text())
    for name in ("a.json.broken-20261130T110000.1", "b.json.broken-20261130T110000.1"):
        (folder / name).write_text("torn")

    a, b = read_checkpoints(workspace).checkpoints
    assert (a.name, a.broken, a.put_aside) == ("a", False, 1)
    assert b == Checkpoint("b", broken=True, why=checkpoints.ASIDE, put_aside=1)


def test_of_many_the_first_are_told_and_the_rest_is_said(
    workspace: Path, folder: Path, monkeypatch
) -> None:
    monkeypatch.setattr(checkpoints, "MOST", 3)
    for n in range(5):
        (folder / f"{n}.json").write_text(text(name=f"{n}"))

    found = read_checkpoints(workspace)
    assert [row.name for row in found.checkpoints] == ["0", "1", "2"]
    assert found.note == "There are 5 checkpoints; the first 3 by name are told of."


def test_a_crowded_folder_is_not_read_to_its_end(
    workspace: Path, folder: Path, monkeypatch
) -> None:
    monkeypatch.setattr(checkpoints, "MOST_NAMES", 10)
    for n in range(30):
        (folder / f"junk-{n}").touch()

    found = read_checkpoints(workspace)
    assert (found.checkpoints, "first 10 names" in found.note) == ([], True)


def test_no_handle_stays_open(workspace: Path, folder: Path, outside: Path) -> None:
    (folder / "a.json").write_text(text())
    pipe(folder / "b.json", outside)
    link(folder / "c.json", outside)
    before = os.listdir("/proc/self/fd")

    for _ in range(3):
        read_checkpoints(workspace)

    assert len(os.listdir("/proc/self/fd")) == len(before)
