"""Many small rows: SQLite is its own checkpoint. Commit, then say so.

Reads one entry a line; says `kept NUMBER` after the commit. Every 50 entries it makes a backup,
a whole database beside the one in use.
"""

import os
import sqlite3
import sys
from pathlib import Path

LEDGER = Path.home() / "ledger.db"
BACKUP = Path.home() / "ledger.backup.db"


def opened(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=30)
    db.execute("PRAGMA journal_mode = WAL")  # readers do not wait for the writer
    db.execute("PRAGMA synchronous = FULL")  # a commit is on the disk when it returns
    db.execute("CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY, said TEXT NOT NULL)")
    db.commit()
    return db


def back_up(db: sqlite3.Connection) -> None:
    """By SQLite itself: a copy of the file alone would lack what is still in the -wal beside it."""
    part = BACKUP.with_suffix(".part")
    part.unlink(missing_ok=True)
    copy = sqlite3.connect(part)
    db.backup(copy)
    copy.close()
    os.replace(part, BACKUP)  # whole or not at all


db = opened(LEDGER)
for line in sys.stdin:
    with db:  # one transaction for what belongs together
        entry = db.execute("INSERT INTO entries (said) VALUES (?)", [line.rstrip("\n")])
    print("kept", entry.lastrowid, flush=True)
    if entry.lastrowid % 50 == 0:
        back_up(db)
