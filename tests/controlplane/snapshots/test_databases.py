"""Which files are databases, by their names and by what lies beside them."""

import pytest

from controlplane.snapshots.databases import database_of


@pytest.mark.parametrize(
    ("path", "base"),
    [
        ("a/mem.db", "a/mem.db"),
        ("mem.sqlite3-wal", "mem.sqlite3"),
        ("mem.db-shm", "mem.db"),
        ("mem.db-journal", "mem.db"),
        ("notes.md", ""),
        ("a-wal", ""),
        ("-wal", ""),
        ("mem.database", ""),
        ("db", ""),
    ],
)
def test_by_its_name(path, base):
    assert database_of(path) == base


def test_under_any_name_by_its_journal():
    around = {"History", "History-journal", "Cookies"}

    assert database_of("History", around) == "History"
    assert database_of("History-journal", around) == "History"
    assert database_of("Cookies", around) == ""
