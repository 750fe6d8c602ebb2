"""A copy of the whole database, and going back to it as an operator does after a disaster."""

from contextlib import contextmanager

from django.apps import apps
from django.db import connection, transaction


class Copy:
    """Of every table that Django knows, many-to-many ones too."""

    def __init__(self) -> None:
        models = apps.get_models(include_auto_created=True)
        self.tables = sorted({model._meta.db_table for model in models})
        with _cursor() as cursor:
            cursor.execute("DROP SCHEMA IF EXISTS yesterday CASCADE; CREATE SCHEMA yesterday")
            for table in self.tables:
                cursor.execute(f'CREATE TABLE yesterday."{table}" AS TABLE public."{table}"')

    def put_back(self) -> None:
        listed = ", ".join(f'public."{table}"' for table in self.tables)
        with _cursor() as cursor:
            # Foreign keys are looked at when all rows are there: Django makes them deferred.
            cursor.execute(f"TRUNCATE {listed}")
            for table in self.tables:
                copied = f'SELECT * FROM yesterday."{table}"'  # noqa: S608  names of our tables
                cursor.execute(f'INSERT INTO public."{table}" {copied}')

    def forget(self) -> None:
        with _cursor() as cursor:
            cursor.execute("DROP SCHEMA yesterday CASCADE")


@contextmanager
def _cursor():
    with transaction.atomic(), connection.cursor() as cursor:
        yield cursor
