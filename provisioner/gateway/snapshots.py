"""Looking into an agent's snapshots: what differs between two, a folder of one, the text of a
file. Read from the copies on this node, and only from those of the caller's agent."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from controlplane.agents.models import Agent
from controlplane.database import from_async
from controlplane.snapshots.errors import SnapshotNotUsable
from controlplane.snapshots.models import Snapshot
from provisioner.backend import get_backend
from provisioner.gateway.door import GatewayProblem, let_in
from provisioner.snapshots import looking, manifest
from provisioner.snapshots.manifest import Entry, Manifest
from provisioner.snapshots.naming import path_of, written
from provisioner.snapshots.take import PLAIN
from provisioner.snapshots.text import Side, text_diff
from provisioner.workspaces.base import CloneMissing, Clones, WorkspaceTrouble

log = logging.getLogger(__name__)
AWAY = (
    "A copy of this snapshot is not on its node, only off-site, and cannot be looked into from "
    "there. Choose one whose copy is on the node. It can be restored as before."
)


async def diff(request: Request) -> Response:
    new, old = await _both(request)
    start, limit = _page(request)

    def read(clones: Clones) -> dict[str, Any]:
        return looking.changes(_files(clones, old), _files(clones, new), start=start, limit=limit)

    return await _answer(new.agent, read)


async def files(request: Request) -> Response:
    agent = (await let_in(request, "snapshots")).agent
    snapshot = await _of(agent, request.path_params["snapshot"])
    path = path_of(request.query_params.get("path", ""))
    start, limit = _page(request)

    def read(clones: Clones) -> dict[str, Any]:
        try:
            return looking.folder(_files(clones, snapshot), path, start=start, limit=limit)
        except LookupError as error:
            said = f"{written(path)} is no folder in this snapshot."
            raise GatewayProblem(404, "not_found", said) from error

    return await _answer(agent, read)


async def text(request: Request) -> Response:
    new, old = await _both(request)
    path = path_of(request.query_params.get("path", ""))

    def read(clones: Clones) -> dict[str, Any]:
        before, after = (Side(one.pk, _entry(_files(clones, one), path)) for one in (old, new))
        if before.entry is None and after.entry is None:
            said = f"{written(path)} is in neither of the two snapshots."
            raise GatewayProblem(404, "not_found", said)
        found = text_diff(clones, new.agent_id, before, after)
        return {"path": written(path), **asdict(found)}

    return await _answer(new.agent, read)


async def _both(request: Request) -> tuple[Snapshot, Snapshot]:
    """The one in the path, and the one it is held against."""
    agent = (await let_in(request, "snapshots")).agent
    new = await _of(agent, request.path_params["snapshot"])
    return new, await _of(agent, request.query_params.get("against", ""))


async def _of(agent: Agent, snapshot_id: str) -> Snapshot:
    """Raises GatewayProblem, also for another agent's."""
    rows = Snapshot.objects.filter(agent=agent).select_related("agent")
    found: Snapshot | None = None
    if "\0" not in snapshot_id:
        found = await from_async(rows.filter(pk=snapshot_id).first)()
    if found is None:
        raise GatewayProblem(404, "not_found", "This snapshot does not exist.")
    if not found.usable:
        refusal = SnapshotNotUsable(found.message)
        raise GatewayProblem(refusal.status, refusal.code, str(refusal))
    return found


def _page(request: Request) -> tuple[int, int]:
    """Where to begin, and how many rows; the control plane has checked what people asked."""
    start, limit = (request.query_params.get(name, "") for name in ("cursor", "limit"))
    most = int(limit) if limit.isdecimal() else looking.MOST
    return int(start) if start.isdecimal() else 0, min(most, looking.MOST)


def _files(clones: Clones, snapshot: Snapshot) -> Manifest:
    try:
        return manifest.read(clones.manifest(snapshot.agent_id, snapshot.pk))
    except FileNotFoundError as error:
        raise CloneMissing(snapshot.pk) from error


def _entry(found: Manifest, path: str) -> Entry | None:
    return next((entry for entry in found.entries if entry.path == path), None)


async def _answer(agent: Agent, read: Callable[[Clones], dict[str, Any]]) -> Response:
    clones = get_backend().workspaces.clones
    if clones is None:
        raise GatewayProblem(409, "no_snapshots_here", PLAIN)
    with _translated(agent):
        return JSONResponse(await asyncio.to_thread(read, clones))


@contextmanager
def _translated(agent: Agent) -> Iterator[None]:
    try:
        yield
    except CloneMissing as error:
        raise GatewayProblem(409, "snapshot_not_on_node", AWAY) from error
    except (OSError, ValueError, WorkspaceTrouble) as error:
        log.warning("a snapshot of %s cannot be read: %s", agent.pk, error)
        said = (
            "The node cannot read this snapshot just now. The agent most likely goes on; the "
            "gateway's log says why."
        )
        raise GatewayProblem(503, "snapshot_unreadable", said) from error
