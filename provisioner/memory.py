"""Whether the database is older than what this node has done with it.

The node counts its rounds twice: in its row, and then in a file of its own. A row that is behind
the file comes from a database that was restored, or lost and made anew. Whoever asks finds that, a
worker too that starts before the node; the node writes it down. From then on nothing is ended or
removed that people did not ask for since (see provisioner.older), until an operator says that the
database is right.
"""

import logging
import os
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.audit.actor import SYSTEM, Actor
from controlplane.audit.record import record
from provisioner.models import Node

log = logging.getLogger(__name__)


def compare() -> bool:
    """Once a round, and before anything else at a start: whether the database has gone back. True
    once, when it is noticed."""
    remembered = _remembered()  # before the row: of two at once, neither finds it behind
    with transaction.atomic():
        defaults = {"heartbeat_at": now()}
        Node.objects.get_or_create(name=settings.ROOST_NODE, defaults=defaults)
        row = Node.objects.select_for_update().get(pk=settings.ROOST_NODE)
        behind = row.serial < remembered
        row.serial = max(row.serial, remembered) + 1
        if behind and row.database_older_since is None:
            row.database_older_since = now()
            # How often they ended since the copy was taken says nothing of the last ten minutes.
            Agent.objects.on(row.name).update(life="")
            _note(SYSTEM, "node.database_went_back")
            log.error("the database is older than what this node has done: nothing is removed")
        row.save(update_fields=["serial", "database_older_since"])
    try:
        _remember(row.serial)
    except OSError as error:  # a full disk: the row is ahead of the file, which is no sign
        log.warning("the node does not remember this round: %s", error)
    return behind


def older_since() -> datetime | None:
    """Since when it is known that the database went back; None where all is well. Since now where
    the node has not noticed it yet."""
    try:
        remembered = _remembered()  # before the row, as above
    except PermissionError:  # the web's process, where it is another user's: the row tells it
        remembered = 0
    rows = Node.objects.filter(pk=settings.ROOST_NODE)
    serial, since = rows.values_list("serial", "database_older_since").first() or (0, None)
    return now() if since is None and serial < remembered else since


def is_stale(written_at: datetime) -> bool:
    """Whether what was written then comes from a copy that the database was restored from."""
    since = older_since()
    return since is not None and written_at < since


def trust(by: Actor, node: str) -> bool:
    """The database is right from now on, whatever was done after its copy was taken. False where
    nobody doubted it."""
    with transaction.atomic():
        doubted = Node.objects.filter(pk=node).exclude(database_older_since=None)
        changed = doubted.update(database_older_since=None)
        if changed:
            _note(by, "node.database_trusted", node)
    return bool(changed)


def weaknesses(row: Node | None) -> list[str]:
    if row is None or row.database_older_since is None:
        return []
    return [
        f"Its database is older than what it has done (noticed at "
        f"{row.database_older_since:%Y-%m-%d %H:%M:%S} UTC; restored from a copy?). It ends and "
        "removes nothing that people did not ask for since. Look at `python -m django strays`, "
        "adopt what is missing, then say `python -m django strays --trust-database`."
    ]


def _note(by: Actor, action: str, node: str = "") -> None:
    name = node or settings.ROOST_NODE
    record(by, action, name[:24], label=name)


def path() -> Path:
    """Of the node's own count; nodes may share a folder, and a node may be given another name."""
    return settings.ROOST_STATE_DIR / f"rounds-{settings.ROOST_NODE}"


def _remembered() -> int:
    try:
        return int(path().read_text())
    except FileNotFoundError:
        return 0
    except ValueError:  # half of it: the disk failed while it was written
        log.warning("%s is unreadable and is begun anew", path())
        return 0


def _remember(serial: int) -> None:
    """Whole or not at all. One that a power cut loses was behind the row, which is no harm."""
    whole = path()
    whole.parent.mkdir(parents=True, exist_ok=True)
    part = whole.with_name(f".{whole.name}.{os.getpid()}")
    part.write_text(str(serial))
    part.rename(whole)
