"""What people are told of two snapshots, or of a folder of one: a page of it, ready for JSON.

Snapshots never change, so a number of rows to skip is a cursor that holds.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from provisioner.snapshots.difference import difference
from provisioner.snapshots.manifest import Entry, Manifest
from provisioner.snapshots.naming import written

MOST = 2000  # rows of one answer
Row = dict[str, Any]


def changes(old: Manifest, new: Manifest, *, start: int = 0, limit: int = MOST) -> Row:
    """{"added": [{"path", "kind", "size"}], "changed": [{"path", "kind", "size_before",
    "size_after"}], "removed": as added, "touched": [{"path", "kind"}], "totals": {a number of
    each}, "truncated", "next": where to go on, or None}. Sizes in bytes."""
    before = {entry.path: entry for entry in old.entries}
    after = {entry.path: entry for entry in new.entries}
    found = vars(difference(old, new))
    wanted = islice(_all(found), start, start + limit)
    page: dict[str, list[Row]] = {kind: [] for kind in found}
    for kind, path in wanted:
        page[kind].append(_told(before.get(path), after.get(path), kind))
    totals = {kind: len(paths) for kind, paths in found.items()}
    return page | {"totals": totals} | _rest(sum(totals.values()), start, limit)


def _all(found: dict[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    return ((kind, path) for kind, paths in found.items() for path in paths)


def _told(old: Entry | None, new: Entry | None, kind: str) -> Row:
    entry = new or old
    assert entry is not None  # noqa: S101  it differs, so one of the two has it
    row: Row = {"path": written(entry.path), "kind": entry.kind}
    if kind == "touched":
        return row
    if old and new:
        return row | {"size_before": old.size, "size_after": new.size}
    return row | {"size": entry.size}


def folder(found: Manifest, path: str, *, start: int = 0, limit: int = MOST) -> Row:
    """{"path", "entries": [{"name", "path", "kind", "size", "modified_at", "target"}], "total",
    "truncated", "next"}, by name. "" is the workspace itself. Raises LookupError for what is no
    folder in it."""
    if path and not any(one.path == path and one.kind == "folder" for one in found.entries):
        raise LookupError(path)
    inside = [entry for entry in found.entries if entry.path.rpartition("/")[0] == path]
    rows = [_entry(entry) for entry in inside[start : start + limit]]
    told = {"path": written(path), "entries": rows, "total": len(inside)}
    return told | _rest(len(inside), start, limit)


def _entry(entry: Entry) -> Row:
    return {
        "name": written(entry.path.rpartition("/")[2]),
        "path": written(entry.path),
        "kind": entry.kind,
        "size": entry.size,
        "modified_at": _moment(entry.mtime_ns),
        "target": written(entry.target),
    }


def _moment(ns: int) -> str | None:
    """None for one that no calendar has: an agent sets the times of its files as it likes."""
    try:
        return datetime.fromtimestamp(ns // 10**9, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def _rest(total: int, start: int, limit: int) -> Row:
    more = start + limit < total
    return {"truncated": more, "next": start + limit if more else None}
