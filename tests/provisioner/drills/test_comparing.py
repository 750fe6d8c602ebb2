"""What counts as lost, and what does not."""

from provisioner.drills import comparing
from provisioner.drills.comparing import compare
from provisioner.snapshots import manifest


def of(folder, **files):
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return manifest.of(folder)


def test_missing_and_changed_files_are_named(tmp_path):
    before = of(tmp_path / "one", a="1", b="2", c="3")
    after = of(tmp_path / "two", a="1", b="x")

    found = compare(before, after, ())

    assert (found.files, found.equal, found.size) == (3, 1, 3)
    assert found.differences == [
        {"path": "b", "what": "changed"},
        {"path": "c", "what": "missing"},
    ]


def test_what_came_anew_and_what_was_only_touched_is_no_loss(tmp_path):
    before = of(tmp_path / "one", a="1")
    after = of(tmp_path / "two", a="1", new="2")

    assert compare(before, after, ()).lost == 0


def test_what_a_boot_rewrites_is_passed_over_and_counted(tmp_path):
    before = of(tmp_path / "one", a="1", log="2")

    found = compare(before, of(tmp_path / "two", a="1"), ("l*",))

    assert (found.files, found.lost, found.passed_over) == (1, 0, 1)


def test_a_link_that_leads_elsewhere_is_changed(tmp_path):
    for folder, leads in (("one", "a"), ("two", "b")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "link").symlink_to(leads)

    found = compare(manifest.of(tmp_path / "one"), manifest.of(tmp_path / "two"), ())

    assert found.differences == [{"path": "link", "what": "changed"}]


def test_of_many_the_first_are_listed_and_all_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(comparing, "MOST", 1)
    before = of(tmp_path / "one", a="1", b="2")

    found = compare(before, of(tmp_path / "two"), ())

    assert (len(found.differences), found.lost) == (1, 2)


def test_a_name_that_is_no_text_can_be_shown(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / b"\xff".decode(errors="surrogateescape")).write_text("x")

    found = compare(manifest.of(tmp_path / "one"), of(tmp_path / "two"), ())

    assert found.differences[0]["path"].encode() == "\ufffd".encode()
