"""A plain directory per workspace, where the node may not mount: the limit is advisory.

Files inside belong to the agent's uid, which we are not; a helper container of the engine
hands them over and takes them away.
"""

import time
from datetime import datetime
from pathlib import Path

from provisioner.engines.base import Bind, Engine, EngineRefused, EngineUnavailable
from provisioner.workspaces.base import (
    AGENT_UID,
    Kept,
    Mounted,
    Pool,
    Usage,
    WorkspaceLost,
    WorkspaceTrouble,
    check_identity,
    identity_text,
    troubles,
)
from runtimes.references import base_reference

GIBIBYTE = 1024**3
EVERY = 600.0  # seconds between two walks
WALK = 20  # seconds a walk may take; workspaces it did not come to have no figures
SIZE, USED = ".gib", ".used"  # what each may hold; what the last walk found


class PlainWorkspaces:
    enforcement = "advisory"
    clones = None

    def __init__(self, state: Path, engine: Engine) -> None:
        self.points = state / "workspaces"
        self.engine = engine
        self._walked: float | None = None

    @troubles()
    def prepare_node(self) -> None:
        self.points.mkdir(parents=True, exist_ok=True)

    @troubles()
    def ensure(self, agent_id: str, gib: int, *, made: bool) -> Mounted:
        point = self.points / agent_id
        mounted = Mounted(point / "data", point / "id", "plain")
        ready = point / ".ready"
        if not ready.exists():
            if made:
                raise WorkspaceLost(agent_id)
            mounted.identity.mkdir(parents=True, exist_ok=True)
            mounted.data.mkdir(exist_ok=True)
            text = mounted.identity / "workspace.json"
            text.unlink(missing_ok=True)  # one that a failed try left cannot be written again
            text.write_text(identity_text(agent_id))
            text.chmod(0o444)
            self._as_root(point, f"chown {AGENT_UID}:{AGENT_UID} /it/data && chmod 700 /it/data")
            ready.touch()
        check_identity(agent_id, mounted.identity)
        (point / SIZE).write_text(str(gib))
        return mounted

    @troubles()
    def usage(self, agent_id: str) -> Usage | None:
        """As of the last walk: it has no file system that counts for it."""
        moment = time.monotonic()
        if self._walked is None or moment - self._walked > EVERY:
            self._walked = moment
            script = f"cd /it && timeout {WALK} du -s -B1 */data >{USED}; chmod 644 {USED}"
            self._as_root(self.points, script)
        used, limit = self._found().get(agent_id), self.points / agent_id / SIZE
        if used is None or not limit.exists():
            return None
        return Usage(used, int(limit.read_text()) * GIBIBYTE)

    def _found(self) -> dict[str, int]:
        walked = self.points / USED
        lines = walked.read_text().splitlines() if walked.exists() else []
        rows = [line.split("\t") for line in lines]
        return {path.partition("/")[0]: int(number) for number, path in rows}

    def room(self) -> Pool | None:
        return None

    def held(self, agent_id: str) -> bool:
        return False  # nothing is mounted, so there is nothing to let go of

    def release(self, agent_id: str) -> None:
        return

    @troubles()
    def destroy(self, agent_id: str) -> None:
        point = self.points / agent_id
        if point.exists():
            self._as_root(point, f"rm -rf /it/data /it/id /it/.ready /it/{SIZE}")
            point.rmdir()

    def kept(self, agent_id: str) -> Kept:
        data = self.points / agent_id / "data"
        return Kept(data if data.is_dir() else None)

    def known(self) -> list[str]:
        return [path.name for path in self.points.glob("agt_*")]

    def used_at(self, agent_id: str) -> datetime | None:
        return None

    def _as_root(self, point: Path, script: str) -> None:
        """`script` is ours and takes nothing from outside; /it is the workspace's directory."""
        bind = Bind(str(point), "/it", read_only=False)
        try:
            self.engine.run_helper(base_reference(), ["/bin/sh", "-c", script], (bind,))
        except (EngineRefused, EngineUnavailable) as error:
            raise WorkspaceTrouble(f"The helper for {point.name} failed: {error}") from error
