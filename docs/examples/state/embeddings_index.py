"""An index over notes: a cache that can be made again, beside its source, and says what made it.

The notes are the state. The index holds for each note the hash of the text it was made from, and
as a whole the VERSION of what made it: a changed note is embedded anew, a changed version or a
broken file makes the whole index anew. Says `indexed NAME` when a note's row is on the disk.
"""

import hashlib
import os
import sqlite3
import struct
from pathlib import Path

NOTES = Path.home() / "notes"
INDEX = NOTES / ".index.db"
VERSION = os.environ.get("EMBEDDING", "toy-embedding-1")  # the model's name and its parameters


def embed(text):
    """Stands for a model: eight numbers from the text's hash."""
    return [byte / 255 for byte in hashlib.sha256(text.encode()).digest()[:8]]


def opened():
    try:
        db = sqlite3.connect(INDEX)
        db.execute("CREATE TABLE IF NOT EXISTS made_by (version TEXT)")
        db.execute(
            "CREATE TABLE IF NOT EXISTS vectors (name TEXT PRIMARY KEY, hash TEXT, vec BLOB)"
        )
        row = db.execute("SELECT version FROM made_by").fetchone()
    except sqlite3.DatabaseError:  # torn or foreign: a cache is made again, not mended
        db.close()
        for file in NOTES.glob(".index.db*"):
            file.unlink()
        return opened()
    if row != (VERSION,):
        with db:
            db.execute("DELETE FROM made_by")
            db.execute("DELETE FROM vectors")
            db.execute("INSERT INTO made_by VALUES (?)", [VERSION])
    return db


db = opened()
known = dict(db.execute("SELECT name, hash FROM vectors"))
notes = {path.name: path.read_text() for path in sorted(NOTES.glob("*.txt"))}
for name, text in notes.items():
    digest = hashlib.sha256(text.encode()).hexdigest()
    if known.get(name) != digest:
        vector = struct.pack("8f", *embed(text))
        with db:
            db.execute("REPLACE INTO vectors VALUES (?, ?, ?)", [name, digest, vector])
        print("indexed", name, flush=True)
with db:
    gone = [[name] for name in known if name not in notes]
    db.executemany("DELETE FROM vectors WHERE name = ?", gone)
