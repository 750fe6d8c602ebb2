"""A hostile tree that changes meanwhile: all of it is looked at, and nothing outside of it."""

import os
import socket
import threading
from pathlib import Path

import pytest

from provisioner.scan import place as places
from provisioner.scan import walking
from provisioner.scan.walking import walk
from tests.provisioner.scan.conftest import VALUE


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree" / "a" / "b").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(VALUE)
    return tmp_path / "tree"


def paths(place) -> list[str]:
    return sorted(finding.path for finding in place.findings)


def test_a_file_is_named_with_its_place_in_it(place, budget, tree):
    (tree / "a" / "b" / "notes").write_bytes(b"12345" + VALUE)

    walk(place, tree, budget, prefix="/workspace")

    (finding,) = place.findings
    assert (finding.path, finding.offset) == ("/workspace/a/b/notes", 5)
    assert (place.things, place.amount) == (1, 5 + len(VALUE))


def test_links_are_not_followed_and_where_they_lead_is_read(place, budget, tree):
    (tree / "folder").symlink_to(tree.parent / "outside")
    (tree / "file").symlink_to(tree.parent / "outside" / "secret")
    (tree / "tells").symlink_to(b"/nowhere/" + VALUE.replace(b"/", b"_"))
    (tree / "tells-more").symlink_to(b"/nowhere/" + VALUE)

    walk(place, tree, budget)

    assert [(one.path, one.inside) for one in place.findings] == [
        ("tells-more", "where a link leads")
    ]


def test_a_name_that_is_a_value_is_found_and_masked(place, budget, tree):
    (tree / "a" / VALUE.hex()).write_text("")

    walk(place, tree, budget)

    assert paths(place) == ["a/***"]
    assert place.findings[0].inside == "its name"


def test_odd_names_are_shown_in_letters_that_fit_a_page(place, budget, tree):
    (tree / os.fsdecode(b"\xff\x1b[31m\n\xe2\x80\xae")).write_bytes(VALUE)
    (tree / ("long" * 60)).mkdir()
    (tree / ("long" * 60) / ("name" * 60)).write_bytes(VALUE)

    walk(place, tree, budget)

    shown = paths(place)
    assert "\\xff\\x1b[31m\\n\\u202e" in shown
    assert all(path.isprintable() and len(path) <= places.LONGEST_NAME for path in shown)


def test_pipes_sockets_and_devices_hold_nobody_up(place, budget, tree):
    os.mkfifo(tree / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tree / "socket"))
        (tree / "z").write_bytes(VALUE)
        walk(place, tree, budget)

    assert paths(place) == ["z"]
    assert place.things == 1


def test_a_hole_is_stepped_over(place, budget, tree):
    with (tree / "sparse").open("wb") as file:
        file.truncate(50 * 1024**3)
        file.seek(40 * 1024**3)
        file.write(VALUE)

    walk(place, tree, budget)

    assert [finding.offset for finding in place.findings] == [40 * 1024**3]
    assert place.amount < 1_000_000


def test_a_tree_deeper_than_handles_reach_is_told(place, budget, tree, monkeypatch):
    monkeypatch.setattr(walking, "DEEPEST", 10)
    tree.joinpath(*["d"] * 30).mkdir(parents=True)
    (tree / "seen").write_bytes(VALUE)

    walk(place, tree, budget)

    assert paths(place) == ["seen"]
    assert place.limits[walking.TOO_DEEP] == 1


def test_one_full_file_does_not_fill_the_report(place, budget, tree):
    (tree / "full").write_bytes((VALUE + b"\n") * 1000)
    (tree / "other").write_bytes(VALUE)

    walk(place, tree, budget)

    assert paths(place).count("full") == places.MOST_HITS
    assert "other" in paths(place)
    assert place.as_dict()["findings"] == 1001


def test_what_is_left_to_another_place_is_left(place, budget, tree):
    (tree / "logs").mkdir()
    (tree / "logs" / "it").write_bytes(VALUE)
    (tree / "a" / "logs").write_bytes(VALUE)

    walk(place, tree, budget, leaving={"logs"})

    assert paths(place) == ["a/logs"]


def test_folders_swapped_for_links_meanwhile_never_lead_outside(place, budget, tree):
    stop = threading.Event()
    for number in range(50):
        (tree / "a" / f"f{number}").mkdir()
        (tree / "a" / f"f{number}" / "secret").write_text("nothing")

    def swap() -> None:
        while not stop.is_set():
            for number in range(50):
                folder = tree / "a" / f"f{number}"
                folder.rename(tree / "away")
                folder.symlink_to(tree.parent / "outside")
                folder.unlink()
                (tree / "away").rename(folder)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(30):
            walk(place, tree, budget)
    finally:
        stop.set()
        thread.join()

    assert place.findings == []
    assert place.things > 0
