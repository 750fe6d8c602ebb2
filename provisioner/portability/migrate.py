"""A runtime takes over what another one left, by its own command, in a container of the agent's
profile, without a network, before the agent's first boot.

What that command reads lies in a folder of its own (`from-openclaw/`), and stays there: nothing of
it is lost.
"""

import os
from pathlib import Path

from controlplane.agents.models import Agent, Isolation
from provisioner import names
from provisioner.backend import Backend
from provisioner.engines.base import Apart, Bind
from provisioner.portability.streams import Bad
from runtimes.catalog import CATALOG, Migration, Runtime

HOME = "/workspace/"
PATIENCE = 600  # seconds
REPORT_MOST = 20_000  # characters that are kept
SHOWN = 300  # of a command that failed


def needed(runtime: Runtime, data: Path, base: str) -> Migration | None:
    """Which migration, of an archive that was unpacked below `base`; None where none is. An archive
    that says nothing of itself is known by the other runtime's state."""
    ways = runtime.migrations.values()
    if base:
        return next(way for way in ways if f"{way.folder}/" == base)
    own = [data / path.removeprefix(HOME) for path in runtime.state_paths]
    if any(os.path.lexists(path) for path in own):
        return None
    return next((way for way in ways if _is_folder(data / way.state)), None)


def run(backend: Backend, agent: Agent, data: Path, base: str, way: Migration) -> str:
    """The command's report. Raises Bad, EngineUnavailable, EngineRefused."""
    release, runtime = agent.release, CATALOG[agent.runtime]
    assert release is not None  # noqa: S101  set in the transaction that made the agent
    if not base:
        _set_aside(data, way)
    _lay_out(data, way)
    code, said = backend.engine.run_apart(
        Apart(
            name=names.apart(agent.pk),
            image=release.image,
            argv=way.command,
            environment=way.environment,
            binds=(Bind(str(data), "/workspace", read_only=False),),
            memory_mb=release.memory_mb,
            cpu_millis=release.cpu_millis,
            pids=runtime.pids,
            tmp_mb=runtime.tmp_mb,
            isolation="gvisor" if release.isolation == Isolation.GVISOR else "default",
        ),
        PATIENCE,
    )
    if code or way.done not in said:
        last = " ".join(said.split())[-SHOWN:]
        raise Bad(
            "migration_failed",
            f"{runtime.title} could not take it over; its own migration said at last: {last}",
        )
    return said.replace("\0", "")[-REPORT_MOST:]


def _set_aside(data: Path, way: Migration) -> None:
    """All that a plain archive held, in the folder of its own. Raises Bad."""
    folder, inside = data / way.folder, list(data.iterdir())
    if os.path.lexists(folder):
        said = f"{way.folder} is in it already, where what is taken over is laid."
        raise Bad("archive_refused", said)
    folder.mkdir(mode=0o700)
    owner = data.stat()
    os.chown(folder, owner.st_uid, owner.st_gid)
    for one in inside:
        one.rename(folder / one.name)


def _lay_out(data: Path, way: Migration) -> None:
    """There, where the command looks for it. A link is neither moved nor followed."""
    folder = data / way.folder
    for source, target in way.laid.items():
        there = folder / target
        fits = _is_folder(folder / source) and _is_folder(there.parent)
        if fits and not os.path.lexists(there):
            (folder / source).rename(there)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
