"""Looking at everything that is stored, to prove that nothing changed."""

from typing import Any

from django.apps import apps
from django.db import connection

# When a token was last used is not an effect of what was asked.
IGNORED = {"last_used_at"}


def everything() -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table of ours."""
    found = {}
    for model in apps.get_models():
        names = [field.attname for field in model._meta.concrete_fields]
        names = [name for name in names if name not in IGNORED]
        found[model._meta.db_table] = sorted(model.objects.values_list(*names), key=repr)
    return found


def is_stored(text: str) -> list[str]:
    """The tables in which some row holds `text`, whatever the column's type."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        return [table for table in tables if _holds(cursor, table, text)]


def _holds(cursor: Any, table: str, text: str) -> bool:
    quoted = connection.ops.quote_name(table)
    cursor.execute(f"SELECT 1 FROM {quoted} t WHERE strpos(t::text, %s) > 0 LIMIT 1", [text])  # noqa: S608
    return cursor.fetchone() is not None
