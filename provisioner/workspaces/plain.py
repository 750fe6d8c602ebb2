"""A plain directory per workspace, where the node may not mount: the limit is advisory.

Files inside belong to the agent's uid, which we are not; a helper container of the engine
hands them over and takes them away.
"""

from pathlib import Path

from provisioner.engines.base import Bind, Engine, EngineRefused, EngineUnavailable
from provisioner.workspaces.base import (
    AGENT_UID,
    Mounted,
    WorkspaceLost,
    WorkspaceTrouble,
    check_identity,
    identity_text,
    troubles,
)
from runtimes.references import base_reference


class PlainWorkspaces:
    enforcement = "advisory"

    def __init__(self, state: Path, engine: Engine) -> None:
        self.points = state / "workspaces"
        self.engine = engine

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
        return mounted

    def held(self, agent_id: str) -> bool:
        return False  # nothing is mounted, so there is nothing to let go of

    def release(self, agent_id: str) -> None:
        return

    @troubles()
    def destroy(self, agent_id: str) -> None:
        point = self.points / agent_id
        if point.exists():
            self._as_root(point, "rm -rf /it/data /it/id /it/.ready")
            point.rmdir()

    def known(self) -> list[str]:
        return [path.name for path in self.points.glob("agt_*")]

    def _as_root(self, point: Path, script: str) -> None:
        """`script` is ours and takes nothing from outside; /it is the workspace's directory."""
        bind = Bind(str(point), "/it", read_only=False)
        try:
            self.engine.run_helper(base_reference(), ["/bin/sh", "-c", script], (bind,))
        except (EngineRefused, EngineUnavailable) as error:
            raise WorkspaceTrouble(f"The helper for {point.name} failed: {error}") from error
