"""Looking at everything that is stored, to prove that nothing changed."""

from typing import Any

from django.apps import apps
from django.db import connection

# When a token was last used is not an effect of what was asked.
_HASH = "coalesce(sum(hashtext((to_jsonb(t) - 'last_used_at')::text)), 0)"


def everything() -> dict[str, tuple[int, int]]:
    """The number of rows of every table of ours, and a hash of what they hold."""
    tables = [model._meta.db_table for model in apps.get_models()]
    looks = [f"SELECT '{table}', count(*), {_HASH} FROM {table} t" for table in tables]  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(looks))
        return {table: (rows, content) for table, rows, content in cursor.fetchall()}


def is_stored(text: str) -> list[str]:
    """The tables in which some row holds `text`, whatever the column's type."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        return [table for table in tables if _holds(cursor, table, text)]


def _holds(cursor: Any, table: str, text: str) -> bool:
    quoted = connection.ops.quote_name(table)
    cursor.execute(f"SELECT 1 FROM {quoted} t WHERE strpos(t::text, %s) > 0 LIMIT 1", [text])  # noqa: S608
    return cursor.fetchone() is not None
