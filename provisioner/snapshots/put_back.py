"""One file, or what lies in one folder, is put back while the agent goes on.

What is there now is kept as a snapshot before anything is written. Then each file takes the place
of another, whole or not at all (see placing); a worker that follows one that was killed puts them
all back once more, which changes nothing. What came into a folder since stays in it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction

from controlplane.agents.lifecycle import Goal
from controlplane.agents.models import Agent
from controlplane.jobs.claim import Claim
from controlplane.jobs.dispatch import request_job
from controlplane.snapshots.actions import new_snapshot
from controlplane.snapshots.databases import BESIDE, database_of
from controlplane.snapshots.errors import DatabaseInUse
from controlplane.snapshots.models import Origin, Restore, Snapshot
from provisioner import names
from provisioner.backend import Backend
from provisioner.confined import opened_root
from provisioner.engines.base import EngineUnavailable
from provisioner.snapshots import placing, proof
from provisioner.snapshots.manifest import Entry, Manifest
from provisioner.snapshots.naming import path_of, written
from provisioner.workspaces.base import Clones, WorkspaceTrouble, troubles

PUT = {"file", "link"}
SLICE_FILES, SLICE_BYTES = 500, 256 * 1024**2  # put back while nothing else may touch the disk
SOME = " Some files were put back before that; the snapshot kept before it has all of them."
NOTHING = " Nothing of it was changed."
DELETED = "The agent was deleted meanwhile. Bring it back, then restore again."


class NotPutBack(Exception):
    """With a reason for machines."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Choice:
    """What is put back, in this order, and what goes: journals that a database did not have."""

    entries: tuple[Entry, ...]
    folders: tuple[Entry, ...]
    gone: tuple[str, ...]
    databases: tuple[str, ...]


def choose(found: Manifest, path: str) -> Choice:
    """Raises NotPutBack."""
    all_paths = {entry.path: entry for entry in found.entries}
    below = [entry for entry in found.entries if entry.path.startswith(f"{path}/")]
    if path not in all_paths:
        said = f"{written(path)} is not in this snapshot. Look into it, and choose what is there."
        raise NotPutBack("not_in_snapshot", said + NOTHING)
    chosen = {entry.path: entry for entry in [all_paths[path], *below]}
    if chosen[path].kind not in {*PUT, "folder"}:
        said = f"{written(path)} is no file and no folder, so there is nothing to put back."
        raise NotPutBack("not_a_file", said + NOTHING)
    bases = {base for one in chosen if (base := database_of(one, all_paths))}
    family = [f"{base}{ending}" for base in sorted(bases) for ending in ("", *BESIDE)]
    chosen |= {one: all_paths[one] for one in family if one in all_paths}
    return Choice(
        entries=tuple(one for one in chosen.values() if one.kind in PUT),
        folders=tuple(one for one in chosen.values() if one.kind == "folder"),
        gone=tuple(one for one in family if one not in all_paths),
        databases=tuple(sorted(bases)),
    )


def put_back(claim: Claim, backend: Backend, clones: Clones, restore: Restore) -> None:
    """Raises NotPutBack, ClaimLost, OffsiteError, VaultUnavailable."""
    agent_id, snapshot = restore.agent_id, restore.snapshot
    claim.write(step="checking")
    found = proof.listed(backend, clones, snapshot)
    choice = choose(found, path_of(restore.path))
    _refuse_in_use(backend, agent_id, choice)
    claim.write(step="keeping")
    clones.take(agent_id, restore.keep_as)
    note_kept(restore)
    claim.write(step="writing")
    folders = {entry.path: entry for entry in found.entries if entry.kind == "folder"}
    with clones.opened(snapshot.agent_id, snapshot.pk) as root:
        _write(claim, backend, clones, restore, choice, folders, root / "data")


def note_kept(restore: Restore) -> None:
    """The row of what it replaces, whose copy is there; twice equals once."""
    with transaction.atomic():
        if not Snapshot.objects.filter(pk=restore.keep_as).exists():
            agent, by = restore.agent, restore.requested_by
            request_job(new_snapshot(agent, Origin.BEFORE_RESTORE, by, pk=restore.keep_as))


def _write(
    claim: Claim,
    backend: Backend,
    clones: Clones,
    restore: Restore,
    choice: Choice,
    folders: dict[str, Entry],
    copy: Path,
) -> None:
    part, done = f".{restore.pk}.part", 0
    try:
        for some in _slices(choice):
            with _both(clones, restore, copy) as (old, new):
                _refuse_in_use(backend, restore.agent_id, choice)
                if not done and (missing := placing.room_for(old, new, list(choice.entries))):
                    raise _no_room(missing)
                for entry in some:
                    placing.place(old, new, entry, folders, part=part)
                    done += 1
                for path in choice.gone:
                    placing.remove(new, path)
            claim.renew()
        with _both(clones, restore, copy) as (_, new):
            for folder in reversed(choice.folders):
                placing.dress(new, folder, folders)
                done += 1
    except (NotPutBack, WorkspaceTrouble) as why:
        raise _with_extent(why, done) from why


@contextmanager
def _both(clones: Clones, restore: Restore, copy: Path) -> Iterator[tuple[int, int]]:
    """The roots of the copy and of the live workspace, of an agent that is there. Raises
    NotPutBack, WorkspaceTrouble."""
    with clones.live(restore.agent_id) as data, troubles():
        if Agent.objects.get(pk=restore.agent_id).goal == Goal.DELETED:
            raise NotPutBack("workspace_trouble", f"{DELETED}{NOTHING}")
        with opened_root(copy) as old, opened_root(data) as new:
            yield old, new


def _slices(choice: Choice) -> Iterator[list[Entry]]:
    """At least one; a database with all that belongs to it lies in one."""
    some: list[Entry] = []
    size = 0
    for entry in choice.entries:
        some.append(entry)
        size += entry.size
        if not choice.databases and (len(some) >= SLICE_FILES or size >= SLICE_BYTES):
            yield some
            some, size = [], 0
    if some or not choice.entries:
        yield some


def _refuse_in_use(backend: Backend, agent_id: str, choice: Choice) -> None:
    """A half database is worse than none. Raises NotPutBack."""
    if not choice.databases:
        return
    agent = Agent.objects.get(pk=agent_id)
    try:
        seen = backend.engine.inspect(names.container(agent_id))
    except EngineUnavailable as error:
        said = "The engine of its node does not answer, so nobody knows whether the agent runs."
        raise NotPutBack("engine_silent", said + NOTHING) from error
    up = seen is not None and (seen.up or seen.state == "restarting")
    if up or agent.goal == Goal.RUNNING:
        refusal = DatabaseInUse(agent.name, written(choice.databases[0]))
        raise NotPutBack(refusal.code, f"{refusal}{NOTHING}")


def _no_room(missing: int) -> NotPutBack:
    said = (
        f"Its disk has no room for it: {missing / 1024**2:.0f} MiB are missing. Make the workspace "
        "larger or delete something, then restore again."
    )
    return NotPutBack("workspace_full", said)


def _with_extent(why: Exception, done: int) -> NotPutBack:
    """What is told of how far it came."""
    reason = why.reason if isinstance(why, NotPutBack) else "not_put_back"
    text = str(why).removesuffix(NOTHING)
    return NotPutBack(reason, text + (SOME if done else NOTHING))
