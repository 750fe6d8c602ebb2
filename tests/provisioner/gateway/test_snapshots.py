"""Looking into snapshots through the gateway: those of the caller's agent, as they lie here."""

import asyncio
import os
import shutil

import pytest

from controlplane.agents.actions import create_agent
from controlplane.snapshots.models import Snapshot
from provisioner.snapshots import manifest
from tests.provisioner.gateway.visits import Caller

pytestmark = pytest.mark.django_db(transaction=True)
ODD = os.fsdecode(b"odd\xff\n<b>")


@pytest.fixture
def caller(as_alice, talking) -> Caller:
    return Caller(as_alice, talking)


@pytest.fixture
def keep(backend, talking, tmp_path):
    """Make a snapshot of files and their texts."""
    clones = backend.workspaces.clones
    clones.root = tmp_path

    def make(agent=talking, **files):
        one = Snapshot.objects.create(
            agent=agent, requested_by="Alice", release=1, disk_gib=5, on_node=True,
            manifest_sha256="a" * 64,
        )  # fmt: skip
        data = tmp_path / one.pk / "data"
        (data / "deep").mkdir(parents=True)
        os.utime(data / "deep", (1e9, 1e9))
        for name, text in files.items():
            path = data / name.replace("__", "/")
            path.write_bytes(text)
            os.utime(path, (1e9, 1e9))
        os.utime(data / "deep", (1e9, 1e9))
        manifest.of(data).write(clones.manifest(agent.pk, one.pk))
        clones.kept.setdefault(agent.pk, []).append(one.pk)
        return one

    return make


def get(caller, one, part, verb="snapshots", **query):
    return asyncio.run(caller.get(verb, f"snapshots/{one.pk}/{part}", **query))


def test_what_differs_is_told_with_sizes(caller, keep):
    old = keep(a=b"one\n", gone=b"12345", same=b"x")
    new = keep(a=b"one\ntwo\n", same=b"x", **{"deep__new": b"123", ODD: b""})

    told = get(caller, new, "diff", against=old.pk).json()

    assert told["changed"] == [{"path": "a", "kind": "file", "size_before": 4, "size_after": 8}]
    assert told["removed"] == [{"path": "gone", "kind": "file", "size": 5}]
    assert told["added"] == [
        {"path": "deep/new", "kind": "file", "size": 3},
        {"path": r"odd\xff\x0a<b>", "kind": "file", "size": 0},
    ]
    assert told["totals"] == {"added": 2, "changed": 1, "removed": 1, "touched": 0}
    assert (told["truncated"], told["next"]) == (False, None)


def test_a_long_list_comes_in_pages_that_fit_together(caller, keep):
    old, new = keep(z=b"1"), keep(a=b"", b=b"", z=b"2")

    first = get(caller, new, "diff", against=old.pk, limit="2").json()
    second = get(caller, new, "diff", against=old.pk, limit="2", cursor="2").json()

    assert [row["path"] for row in first["added"]] == ["a", "b"]
    assert (first["truncated"], first["next"], first["changed"]) == (True, 2, [])
    assert [row["path"] for row in second["changed"]] == ["z"]
    assert second["next"] is None


def test_the_text_of_one_file(caller, keep):
    old, new = keep(a=b"one\ntwo\n"), keep(a=b"one\n2\n")

    told = get(caller, new, "diff/text", against=old.pk, path="a").json()

    assert told == {
        "path": "a",
        "why": "",
        "diff": "--- a\n+++ a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
    }


def test_the_text_of_a_file_with_an_odd_name_that_is_new(caller, keep):
    old, new = keep(), keep(**{ODD: b"hi"})

    diff = get(caller, new, "diff/text", against=old.pk, path=r"odd\xff\x0a<b>").json()["diff"]

    assert diff.startswith("--- /dev/null\n+++ odd\\xff\\x0a<b>\n@@ -0,0 +1 @@\n+hi\n")


def test_a_folder_is_listed(caller, keep):
    one = keep(deep__b=b"12", a=b"")

    top = get(caller, one, "files").json()
    deep = get(caller, one, "files", path="deep").json()

    assert [(row["name"], row["kind"]) for row in top["entries"]] == [
        ("a", "file"), ("deep", "folder"),
    ]  # fmt: skip
    assert deep["entries"] == [
        {"name": "b", "path": "deep/b", "kind": "file", "size": 2, "target": "",
         "modified_at": "2001-09-09T01:46:40+00:00"},
    ]  # fmt: skip


@pytest.mark.parametrize(("part", "path"), [("files", "../x"), ("files", "a"), ("diff/text", "b")])
def test_what_is_not_in_it_is_not_found(caller, keep, part, path):
    one = keep(a=b"")

    assert get(caller, one, part, path=path, against=one.pk).status_code == 404


@pytest.mark.parametrize("part", ["diff", "diff/text"])
def test_another_agents_snapshot_is_not_there(caller, keep, as_alice, part):
    """T4: neither in the path nor to compare with."""
    theirs = keep(create_agent(as_alice, name="other", runtime="hermes"), a=b"secret")
    mine = keep(a=b"")

    assert get(caller, mine, part, against=theirs.pk, path="a").status_code == 404
    assert get(caller, theirs, part, against=mine.pk, path="a").status_code == 404
    assert get(caller, theirs, "files").status_code == 404


def test_one_that_is_only_off_site_says_so(caller, keep, tmp_path):
    one = keep(a=b"")
    (tmp_path / f"{one.pk}.manifest").unlink()

    answer = get(caller, one, "files")

    assert (answer.status_code, answer.json()["code"]) == (409, "snapshot_not_on_node")


def test_a_list_that_was_cut_off_is_the_nodes_trouble(caller, keep, tmp_path):
    one = keep(a=b"")
    path = tmp_path / f"{one.pk}.manifest"
    path.write_bytes(path.read_bytes()[:-9])

    assert get(caller, one, "files").json()["code"] == "snapshot_unreadable"


def test_a_file_that_is_not_what_it_was_is_not_shown(caller, keep, tmp_path):
    old, new = keep(a=b"one"), keep(a=b"two")
    (tmp_path / new.pk / "data" / "a").write_bytes(b"2wo")

    answer = get(caller, new, "diff/text", against=old.pk, path="a")

    assert (answer.status_code, answer.json()["code"]) == (503, "snapshot_unreadable")


def test_one_that_is_still_made_is_refused(caller, keep, tmp_path):
    one = keep(a=b"")
    Snapshot.objects.update(manifest_sha256="")
    shutil.rmtree(tmp_path / one.pk)

    assert get(caller, one, "files").json()["code"] == "snapshot_not_usable"


def test_a_ticket_for_something_else_does_not_open_it(caller, keep):
    assert get(caller, keep(), "files", verb="logs").json()["code"] == "bad_ticket"
