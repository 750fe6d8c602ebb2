"""What is there and no row speaks of, seen by one look.

What is there is listed first and the rows are read after it: whatever is made has its row before
it, so nothing that is just being born is taken for a stray. A part that does not answer, or cannot
be asked, tells nothing: its kind is left out, which is not the same as empty. What is not named by
an id of ours is nobody's agent, and no stray.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings

from controlplane import ids
from controlplane.agents.models import Agent
from controlplane.keys.vault import VaultUnavailable
from provisioner import delivery, names
from provisioner.backend import Backend
from provisioner.engines.base import Container, EngineRefused, EngineUnavailable
from provisioner.offsite import place
from provisioner.offsite.errors import OffsiteError
from provisioner.strays import speaking
from provisioner.strays.models import SHARED, Kind
from provisioner.workspaces.base import Kept, WorkspaceTrouble

log = logging.getLogger(__name__)
AWAY = (EngineUnavailable, EngineRefused, VaultUnavailable, OffsiteError, WorkspaceTrouble, OSError)
GIBIBYTE = 1024**3


@dataclass(frozen=True)
class Seen:
    """`spec` is what an agent can be made of: image, release, memory_mb, settings, disk_gib."""

    kind: Kind
    identity: str
    name: str
    agent: str = ""
    organisation: str = ""
    bytes: int | None = None
    address: str | None = None
    spec: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def node(self) -> str:
        return "" if self.kind in SHARED else str(settings.ROOST_NODE)


Look = Callable[[Backend], Iterable[Seen]]


def look(backend: Backend, asked: Iterable[Kind] = Kind) -> tuple[list[Seen], set[Kind]]:
    """What was found of the kinds that were `asked` for, and of which everything was seen."""
    wanted = set(asked)
    found: list[Seen] = []
    told: set[Kind] = set()
    for kinds, one in LOOKS:
        if wanted.isdisjoint(kinds):
            continue
        try:
            found += list(one(backend))
        except AWAY as error:
            log.warning("no look at every %s: %s", " and ".join(kinds), error)
        else:
            told.update(kinds)
    return found, told


def _containers(backend: Backend) -> Iterator[Seen]:
    listed = backend.engine.containers(names.mine(settings.ROOST_INSTALLATION))
    rows = _known(one.agent_id for one in listed)
    for one in listed:
        if one.agent_id not in rows:
            yield _container(backend.engine.inspect(one.name) or one)


def _container(seen: Container) -> Seen:
    spec = {"image": seen.image, "release": seen.release, "restart": seen.restart}
    spec |= {"memory_mb": seen.memory_mb, "settings": _settings(seen), "running": seen.up}
    return Seen(
        Kind.CONTAINER,
        seen.id,
        seen.name,
        seen.agent_id if ids.is_id("agt", seen.agent_id) else "",
        seen.organisation_id if ids.is_id("org", seen.organisation_id) else "",
        address=seen.address or seen.fixed_address,
        spec=spec,
    )


def _settings(seen: Container) -> dict[str, Any]:
    try:
        found = json.loads(seen.settings)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _keys(backend: Backend) -> Iterator[Seen]:
    listed = backend.keys.known()
    for agent in _unknown(listed):
        yield Seen(Kind.KEYS, agent, backend.keys.directory(agent), agent)


def _disks(backend: Backend) -> Iterator[Seen]:
    disks = backend.workspaces.known()
    clones = backend.workspaces.clones
    owners = clones.owners() if clones else []
    for agent in _unknown([*disks, *owners]):
        kept = backend.workspaces.kept(agent)
        copies = len(clones.known(agent)) if clones else 0
        if agent in disks:
            spec = {"disk_gib": _gib(kept.disk), "copies": copies}
            yield Seen(Kind.DISK, agent, _place(kept, agent), agent, bytes=_held(kept), spec=spec)
        else:
            name = f"{copies} of {agent}"
            yield Seen(Kind.COPIES, agent, name, agent, bytes=_held(kept), spec={"copies": copies})


def _copies(backend: Backend) -> Iterator[Seen]:
    """Of agents that have a row: snapshots that were taken after the database's copy was."""
    clones = backend.workspaces.clones
    if clones is None:
        return
    backend.workspaces.known()  # raises where copies cannot be seen either
    listed = {agent: clones.known(agent) for agent in clones.owners()}
    rows = speaking.copies(clone for kept in listed.values() for clone in kept)
    for agent in _known(listed):
        for clone in listed[agent]:
            if ids.is_id("snp", clone) and clone not in rows:
                yield Seen(Kind.COPY, f"{agent}/{clone}", f"{clone} of {agent}", agent)


def _networks(backend: Backend) -> Iterator[Seen]:
    listed = backend.engine.networks(names.mine(settings.ROOST_INSTALLATION))
    rows = speaking.networks()
    for name in listed:
        if name not in rows:
            yield Seen(Kind.NETWORK, name, name)


def _vault(backend: Backend) -> Iterator[Seen]:
    for agent in _unknown(backend.vault.names("agents")):
        path = delivery.vault_path(agent)
        yield Seen(Kind.VAULT, path, path, agent)


def _offsite(backend: Backend) -> Iterator[Seen]:
    if (why := place.why_not()) is not None:
        raise OffsiteError(why)  # not asked, which is not the same as nothing there
    kept = place.kept()
    unknown = set(_unknown(agent for _, agent in kept))
    for organisation, agent in kept:
        where = place.prefix(organisation, agent)
        if agent in unknown and place.bucket().holds(where):
            size = place.bucket().size_of(where)
            yield Seen(Kind.OFFSITE, where, where, agent, organisation, size)


LOOKS: tuple[tuple[tuple[Kind, ...], Look], ...] = (
    ((Kind.CONTAINER,), _containers),
    ((Kind.KEYS,), _keys),
    ((Kind.DISK, Kind.COPIES), _disks),
    ((Kind.COPY,), _copies),
    ((Kind.NETWORK,), _networks),
    ((Kind.VAULT,), _vault),
    ((Kind.OFFSITE,), _offsite),
)


def _known(agents: Iterable[str]) -> set[str]:
    rows = Agent.objects.filter(pk__in=set(agents))
    return set(rows.values_list("pk", flat=True))


def _unknown(agents: Iterable[str]) -> list[str]:
    listed = {agent for agent in agents if ids.is_id("agt", agent)}
    return sorted(listed - _known(listed))


def _place(kept: Kept, agent: str) -> str:
    return str(kept.disk or kept.data or agent)[-200:]


def _held(kept: Kept) -> int | None:
    """Bytes on the disk, copies included; what copies share counts for each. None where the
    node's own files do not tell."""
    paths = [path for path in (kept.disk, *kept.copies) if path is not None]
    return sum(_blocks(path) for path in paths) if paths else None


def _blocks(path: Path) -> int:
    try:
        return path.stat().st_blocks * 512
    except OSError:
        return 0


def _gib(disk: Path | None) -> int:
    return -(-disk.stat().st_size // GIBIBYTE) if disk is not None else 0
