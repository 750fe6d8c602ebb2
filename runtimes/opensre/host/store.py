"""What was said and found, in SQLite on the workspace. Every call is one transaction on the disk.

An investigation is also a conversation of the same id, so that one can ask about its report.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from runtimes.opensre.host.engine import Finding, Said

SCHEMA = """
CREATE TABLE conversation (id TEXT PRIMARY KEY, title TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE message (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation TEXT NOT NULL REFERENCES conversation,
  role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
  text TEXT NOT NULL,
  at REAL NOT NULL
);
CREATE INDEX message_of ON message (conversation, id);
CREATE TABLE investigation (
  id TEXT PRIMARY KEY REFERENCES conversation,
  status TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'interrupted')),
  note TEXT NOT NULL DEFAULT '',
  root_cause TEXT NOT NULL DEFAULT '',
  report TEXT NOT NULL DEFAULT '',
  at REAL NOT NULL
);
PRAGMA user_version = 1;
"""
INTERRUPTED = "The agent was stopped before it had finished. Send the alert again."
MOST_LISTED, MOST_MESSAGES = 200, 500
MOST_SHOWN = 4_000_000  # characters of a history: well below what the gateway reads
# What the model is told of what was said before; OpenSRE by itself would remember nothing.
MOST_CONTEXT, MOST_CONTEXT_MESSAGES = 100_000, 40

Row = dict[str, Any]


class Store:
    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = Lock()
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        # FULL: what was acknowledged outlives the host's power, not only a killed process.
        self._db.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
        )
        if not self._db.execute("PRAGMA user_version").fetchone()[0]:
            self._db.executescript(f"BEGIN; {SCHEMA} COMMIT;")

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _rows(self, query: str, *values: Any) -> list[Row]:
        with self._lock:
            return [dict(row) for row in self._db.execute(query, values)]

    # Conversations

    def open(self, conversation: str, title: str) -> None:
        """The conversation exists afterwards; an existing one keeps its title."""
        with self._transaction() as db:
            _open(db, conversation, title)

    def exists(self, conversation: str) -> bool:
        return bool(self._rows("SELECT 1 FROM conversation WHERE id = ?", conversation))

    def say(self, conversation: str, role: str, text: str) -> int:
        """Keep a message; its id."""
        with self._transaction() as db:
            return _say(db, conversation, role, text)

    def conversations(self) -> list[Row]:
        """The one used last first."""
        return self._rows(
            "SELECT c.id, c.title, c.at, count(m.id) AS messages FROM conversation c"
            " LEFT JOIN message m ON m.conversation = c.id"
            " GROUP BY c.id ORDER BY c.at DESC LIMIT ?",
            MOST_LISTED,
        )

    def history(self, conversation: str) -> list[Row]:
        """The latest messages, oldest first."""
        rows = self._rows(
            "SELECT id, role, text, at FROM message WHERE conversation = ?"
            " ORDER BY id DESC LIMIT ?",
            *(conversation, MOST_MESSAGES),
        )
        return _latest(rows, MOST_SHOWN)

    def context(self, conversation: str, message: int) -> list[Said]:
        """What the model is told to answer a message: what came before it, then the message.

        Answers to earlier messages belong to that even where they were given later; later
        messages wait for a turn of their own.
        """
        rows = self._rows(
            "SELECT role, text FROM message WHERE conversation = ? AND (id <= ? OR role <> 'user')"
            " ORDER BY id = ? DESC, id DESC LIMIT ?",
            *(conversation, message, message, MOST_CONTEXT_MESSAGES),
        )
        return [Said(row["role"], row["text"]) for row in _latest(rows, MOST_CONTEXT)]

    # Investigations

    def begin(self, investigation: str, title: str, alert: str) -> None:
        """Kept before it starts: OpenSRE itself would leave no trace of one that is killed."""
        with self._transaction() as db:
            _open(db, investigation, title)
            _say(db, investigation, "user", alert)
            db.execute(
                "INSERT INTO investigation (id, status, at) VALUES (?, 'running', ?)",
                (investigation, time.time()),
            )

    def found(self, investigation: str, finding: Finding) -> None:
        with self._transaction() as db:
            _say(db, investigation, "assistant", finding.report)
            db.execute(
                "UPDATE investigation SET status = 'completed', root_cause = ?, report = ?"
                " WHERE id = ?",
                (clean(finding.root_cause), clean(finding.report), investigation),
            )

    def broke_off(self, investigation: str, note: str) -> None:
        with self._transaction() as db:
            db.execute(
                "UPDATE investigation SET status = 'failed', note = ? WHERE id = ?",
                (clean(note), investigation),
            )

    def interrupt(self) -> None:
        """At start: whatever was running is not."""
        with self._transaction() as db:
            db.execute(
                "UPDATE investigation SET status = 'interrupted', note = ?"
                " WHERE status = 'running'",
                (INTERRUPTED,),
            )

    def investigations(self) -> list[Row]:
        """The newest first, without their reports."""
        return self._rows(
            "SELECT i.id, c.title, i.at, i.status, i.note, i.root_cause FROM investigation i"
            " JOIN conversation c ON c.id = i.id ORDER BY i.at DESC LIMIT ?",
            MOST_LISTED,
        )

    def investigation(self, investigation: str) -> Row | None:
        rows = self._rows(
            "SELECT i.id, c.title, i.at, i.status, i.note, i.root_cause, i.report"
            " FROM investigation i JOIN conversation c ON c.id = i.id WHERE i.id = ?",
            investigation,
        )
        return rows[0] if rows else None


def _open(db: sqlite3.Connection, conversation: str, title: str) -> None:
    db.execute(
        "INSERT INTO conversation VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (conversation, clean(title), time.time()),
    )


def _say(db: sqlite3.Connection, conversation: str, role: str, text: str) -> int:
    now = time.time()
    said = db.execute(
        "INSERT INTO message (conversation, role, text, at) VALUES (?, ?, ?, ?)",
        (conversation, role, clean(text), now),
    )
    db.execute("UPDATE conversation SET at = ? WHERE id = ?", (now, conversation))
    assert said.lastrowid is not None  # noqa: S101  an INSERT has one
    return said.lastrowid


def clean(text: str) -> str:
    """JSON may hold halves of a letter, which SQLite does not take."""
    return text.encode(errors="replace").decode()


def _latest(rows: list[Row], most: int) -> list[Row]:
    """Rows that come newest first, oldest first; no more of the older than fit in `most`."""
    kept = list[Row]()
    for row in rows:
        most -= len(row["text"])
        if kept and most < 0:
            break
        kept.insert(0, row)
    return kept
