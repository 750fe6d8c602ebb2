"""Every row of every table, streamed out in binary and searched here.

Searched on our side, because a search in the database would send it the value, and its log
might keep the statement.
"""

import struct
from collections.abc import Iterator
from itertools import pairwise

from django.apps import apps
from django.db import DatabaseError, connection

from controlplane.agents.models import Agent
from provisioner.scan.context import Context
from provisioner.scan.needles import Hit
from provisioner.scan.place import Place

SIGNATURE = b"PGCOPY\n\xff\r\n\0"
HEAD = len(SIGNATURE) + 8  # flags and the length of an extension that nobody has
UNREADABLE = "tables that could not be read"
TABLES = """
    SELECT n.nspname, c.relname, array_agg(a.attname ORDER BY a.attnum)::text[]
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
      AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    GROUP BY n.nspname, c.relname ORDER BY n.nspname, c.relname
"""


def own(context: Context, place: Place) -> None:
    """Rows that belong to this agent by their foreign key, and its own."""
    _look(place, context.agent.pk, owned=True)


def rest(context: Context, place: Place) -> None:
    _look(place, context.agent.pk, owned=False)


def _look(place: Place, agent_id: str, *, owned: bool) -> None:
    owners = _owners()
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        tables = cursor.fetchall()
    for schema, table, columns in tables:
        owner = owners.get(table, "")
        if owner not in columns:
            if owned:
                continue
            owner = ""
        try:
            _table(place, (schema, table), columns, _which(owner, owned=owned), agent_id)
        except DatabaseError:
            place.skip(UNREADABLE)


def _owners() -> dict[str, str]:
    """By table, the column that says whose agent's a row is."""
    return {
        model._meta.db_table: field.column
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if field.column
        if field.related_model is Agent or (model is Agent and field.primary_key)
    }


def _which(owner: str, *, owned: bool) -> str:
    if not owner:
        return ""
    return f"WHERE {_quoted(owner)} IS {'NOT ' * owned}DISTINCT FROM %(agent)s"


def _quoted(name: str) -> str:
    return str(connection.ops.quote_name(name)).replace("%", "%%")


def _table(
    place: Place, named: tuple[str, str], columns: list[str], which: str, agent_id: str
) -> None:
    table = named[1]
    source = f"{_quoted(named[0])}.{_quoted(table)}"
    # Names come from the catalogue and are quoted; the id is a parameter.
    rows = f"SELECT {', '.join(map(_quoted, columns))} FROM {source} {which}"  # noqa: S608
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY ({rows}) TO STDOUT (FORMAT binary)", {"agent": agent_id}) as copy,
    ):
        for row in _rows(copy):
            place.things += 1
            place.count(len(row))
            for hit in place.needles.find(row):
                column, key, start = _where(row, hit, columns)
                path = f"table {table}, row {key}, column {column}"
                place.add(path, [Hit(hit.start - start, hit.end - start, hit.secret, hit.form)])


def _rows(copy: Iterator[bytes]) -> Iterator[bytes]:
    """The server sends one row at a time; before the first it says what follows."""
    first = True
    for block in copy:
        row = bytes(block)
        if first and row.startswith(SIGNATURE):
            row = row[HEAD:]
        first = False
        if len(row) > 2:  # two bytes are the end
            yield row


def _where(row: bytes, hit: Hit, columns: list[str]) -> tuple[str, str, int]:
    """The column a hit begins in, the row's first column, and where the column's value begins."""
    starts, key, at = [2], b"", 2
    for number in range(int.from_bytes(row[:2])):
        (length,) = struct.unpack_from(">i", row, at)
        value = row[at + 4 : at + 4 + max(length, 0)]
        key = value if number == 0 else key
        at += 4 + len(value)
        starts.append(at)
    for number, (start, end) in enumerate(pairwise(starts)):
        if start <= hit.start < end and number < len(columns):
            return columns[number], _key(key), start + 4
    return "?", _key(key), 0


def _key(value: bytes) -> str:
    """A number comes as 4 or 8 bytes, a name as its text."""
    if len(value) in {4, 8} and value[:2] == b"\0\0":
        return str(int.from_bytes(value))
    return value.decode("utf-8", "replace")[:80]
