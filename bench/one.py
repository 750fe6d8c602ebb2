"""`python -m bench.one NAME [STATE]`: one benchmark in a process of its own, because Django can be
set up once in a process and each needs it differently."""

import importlib
import os
import secrets
import sys
import tempfile
from pathlib import Path

import django

from bench import results
from bench.installation import Installation
from deploy.local.services import backing_services

# These meet an installation that runs; the others need a database alone.
ON_AN_INSTALLATION = ("birth", "recovery", "drill", "snapshots")
ON_A_DATABASE = ("idle", "pages")


def on_an_installation(name: str, state: Path) -> results.Result:
    installation = Installation(state)
    os.environ.update(installation.node_environment())
    django.setup()
    result: results.Result = importlib.import_module(f"bench.{name}").measure(installation)
    return result


def on_a_database(name: str) -> results.Result:
    with (
        tempfile.TemporaryDirectory(prefix="roost-bench-") as folder,
        backing_services(Path(folder) / "services") as addresses,
    ):
        (Path(folder) / "static").mkdir()
        os.environ.update(
            {
                "DATABASE_URL": addresses["DATABASE_URL"],
                "REDIS_URL": addresses["REDIS_URL"],
                "DJANGO_SETTINGS_MODULE": "bench.settings",
                "GATEWAY_SECRET": secrets.token_urlsafe(32),
                "ROOST_STATE_DIR": folder,
            }
        )
        django.setup()
        from django.core.management import call_command
        from django.db import connections
        from django.db.backends.postgresql.base import DatabaseWrapper

        call_command("migrate", verbosity=0)
        try:
            result: results.Result = importlib.import_module(f"bench.{name}").measure()
        finally:
            # Before the server goes: a pool would try to reach it again.
            database = connections["default"]
            assert isinstance(database, DatabaseWrapper)
            database.close()
            database.close_pool()
        return result


def main(arguments: list[str]) -> int:
    name, *state = arguments
    result = on_an_installation(name, Path(*state)) if state else on_a_database(name)
    results.write(result)
    return 0 if result.ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
