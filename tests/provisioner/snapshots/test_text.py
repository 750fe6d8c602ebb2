"""The text of one file in two snapshots, whatever an agent put in its place."""

import os

import pytest

from provisioner.snapshots import manifest, text
from provisioner.snapshots.text import Side, text_diff
from provisioner.workspaces.base import WorkspaceTrouble


@pytest.fixture
def compare(clones, tmp_path):
    """Two copies of a file, made by two functions of its path; what is told of them."""

    def told(old, new, after=lambda data: None):
        sides = []
        for clone_id, make in (("snp_old", old), ("snp_new", new)):
            data = tmp_path / clone_id / "data"
            data.mkdir(parents=True)
            make(data / "a")
            clones.kept.setdefault("agt_a", []).append(clone_id)
            found = manifest.of(data).entries
            sides.append(Side(clone_id, found[0] if found else None))
            after(data)
        return text_diff(clones, "agt_a", *sides)

    return told


def holding(content: bytes):
    return lambda path: path.write_bytes(content)


def absent(path):
    pass


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (holding(b"a\0b"), text.NO_TEXT),
        (holding(b"\xff\xfe"), text.NO_TEXT),
        (holding(b"x" * (text.MOST + 1)), text.TOO_LARGE),
        (holding(b"one"), text.SAME),
        (lambda path: path.symlink_to("/etc/passwd"), text.NO_FILE),
        (lambda path: path.mkdir(), text.NO_FILE),
        (os.mkfifo, text.NO_FILE),
    ],
)
def test_why_there_is_none(compare, make, why):
    found = compare(holding(b"one"), make)

    assert (found.diff, found.why) == ("", why)


def test_the_end_of_a_file_without_a_newline_is_told(compare):
    assert "\\ No newline at end of file" in compare(holding(b"a\n"), holding(b"a")).diff


def test_one_that_was_removed(compare):
    assert compare(holding(b"a\n"), absent).diff == "--- a\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"


def test_lines_that_look_like_options_and_tags_are_lines(compare):
    assert "+--help <script>\n" in compare(absent, holding(b"--help <script>\n")).diff


def test_lines_that_are_hard_to_compare_end_soon(compare):
    """What a comparison line by line would take minutes for."""
    old = b"".join(b"%d\n" % (n % 97) for n in range(80_000))
    new = b"".join(b"%d\n" % (n * 7 % 89) for n in range(80_000))

    found = compare(holding(old), holding(new))

    assert found.diff or found.why == text.TOO_LONG


def test_a_link_in_the_copy_leads_nowhere(compare, tmp_path):
    """The manifest says file: a copy that says otherwise is not followed out."""
    (tmp_path / "secret").write_text("theirs")

    def swap(data):
        (data / "a").unlink()
        (data / "a").symlink_to(tmp_path / "secret")

    with pytest.raises(WorkspaceTrouble, match="cannot be read"):
        compare(holding(b"one"), holding(b"two"), swap)
