"""The platform's own files on this node."""

from pathlib import Path

from django.conf import settings

from provisioner.scan.context import Context
from provisioner.scan.place import Place
from provisioner.scan.places.trees import trees

DATABASE, QUEUE, VAULT = "postgres", "valkey", "openbao"
# Disks and keys have places of their own: keys lie there in memory, where they belong.
DISKS = {"pool", "pool.img", "workspaces", "keys"}
ELSEWHERE = "does not run from this installation's directory, so its files are elsewhere."


def database(context: Context, place: Place) -> None:
    _below(context, place, DATABASE, f"The database {ELSEWHERE}")


def queue(context: Context, place: Place) -> None:
    _below(context, place, QUEUE, f"The queue {ELSEWHERE}")


def vault(context: Context, place: Place) -> None:
    _below(context, place, VAULT, f"The vault {ELSEWHERE}")


def logs(context: Context, place: Place) -> None:
    folder = settings.ROOST_LOG_DIR
    missing = f"There is no directory {folder}. Set ROOST_LOG_DIR to where the logs are."
    trees(context, place, [str(folder)], missing)


def other(context: Context, place: Place) -> None:
    state: Path = settings.ROOST_STATE_DIR
    special = {path.name for path in (settings.ROOST_KEYS_DIR, settings.ROOST_LOG_DIR)}
    leaving = {*DISKS, *special, DATABASE, QUEUE, VAULT}
    trees(context, place, [str(state)], f"There is no directory {state}.", leaving)


def _below(context: Context, place: Place, name: str, missing: str) -> None:
    trees(context, place, [str(settings.ROOST_STATE_DIR / name)], missing)
