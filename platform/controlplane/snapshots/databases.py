"""Which files are databases with journals, by their names.

A program that has one open keeps part of it in memory and in the files beside it: one of these put
back alone makes a database that is neither the old one nor the new one.
"""

from collections.abc import Container

ENDINGS = (".db", ".db3", ".sqlite", ".sqlite3")
BESIDE = ("-wal", "-shm", "-journal")


def database_of(path: str, others: Container[str] = ()) -> str:
    """The path of the database that a file is, or belongs to; "" where it does not look like one.
    With `others`, what lies around it, a database under any name is known by its journal."""
    for ending in BESIDE:
        if path.endswith(ending) and len(path) > len(ending):
            path = path.removesuffix(ending)
            return path if path.endswith(ENDINGS) or path in others else ""
    has_journal = any(f"{path}{ending}" in others for ending in BESIDE)
    return path if path.endswith(ENDINGS) or has_journal else ""
