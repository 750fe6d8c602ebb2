"""Everywhere a scan looks, in order. A place is a name, a title and a function that fills it.

A shared place holds what belongs to others too. Whether a value lies there would tell whoever
chose the value something of them, so what is found there goes to operators alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

from provisioner.scan.context import Context
from provisioner.scan.place import Place
from provisioner.scan.places import database, disks, engine, host, installation, queue

Look = Callable[[Context, Place], None]


@dataclass(frozen=True)
class Spot:
    name: str
    title: str
    look: Look
    noun: str = "files"
    shared: bool = False


# The workspace comes before its disk, which only adds what no file of the workspace explains.
OWN: tuple[Spot, ...] = (
    Spot("workspace", "Workspace", disks.workspace),
    Spot("disk", "Raw blocks of its disk, deleted files included", disks.disk, "disks"),
    Spot("copies", "Snapshots and copies of its disk", disks.copies),
    Spot("image", "Image layers", engine.image),
    Spot("container", "Writable layer of its container", engine.container),
    Spot("engine", "What the engine wrote down about it", engine.metadata),
    Spot("logs", "Log of its container", engine.logs),
    Spot("database", "Database: every row of this agent", database.own, "rows"),
)
SHARED: tuple[Spot, ...] = tuple(
    Spot(name, title, look, noun, shared=True)
    for name, title, look, noun in (
        ("pool", "Raw blocks of the pool of disks", disks.pool, "disks"),
        ("networks", "What the engine wrote down about its networks", engine.networks, "files"),
        ("database_rest", "Database: every other row and column", database.rest, "rows"),
        (
            "database_files",
            "Files of the database, old rows included",
            installation.database,
            "files",
        ),
        ("queue", "Queue: every key", queue.look, "keys"),
        ("queue_files", "Files of the queue", installation.queue, "files"),
        ("vault_files", "Files and audit log of the vault", installation.vault, "files"),
        ("own_logs", "Logs of the platform", installation.logs, "files"),
        ("own_files", "Other files of this installation", installation.other, "files"),
        ("processes", "Command lines and environments of processes", host.processes, "processes"),
        ("swap", "Memory that was swapped to a disk", host.swap, "files"),
    )
)
SPOTS = OWN + SHARED
