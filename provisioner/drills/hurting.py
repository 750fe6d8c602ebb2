"""The ways in which a drill ends an agent. Each hurts and returns; the node brings it back."""

import shlex
import subprocess
import time

from django.conf import settings
from django.utils.timezone import now

from controlplane.agents.lease import Lease
from controlplane.agents.models import Agent
from controlplane.drills.models import Hurt
from provisioner import boot, names
from provisioner.backend import Backend
from provisioner.drills.errors import NoVerdict
from provisioner.jobs.limits import unbounded

PATIENCE = 30.0  # seconds for a pass that is under way
ENGINE_PATIENCE = 120.0  # seconds for the engine's restart
CLOSED = (
    "The engine of this node is not restarted for a drill: that would hurt its other agents. An "
    "operator can allow it with ROOST_DRILL_ENGINE_COMMAND. Choose another way."
)


def refuse_closed(kind: str) -> None:
    """Raises NoVerdict for a way that this node does not go."""
    if kind == Hurt.ENGINE and not settings.ROOST_DRILL_ENGINE_COMMAND:
        raise NoVerdict("engine_restart_not_allowed", CLOSED)


def hurt(backend: Backend, agent: Agent, kind: str) -> None:
    """Raises NoVerdict, EngineUnavailable, EngineRefused, WorkspaceTrouble."""
    name = names.container(agent.pk)
    match Hurt(kind):
        case Hurt.PROCESS:
            backend.engine.kill_main(name)
        case Hurt.CONTAINER:
            backend.engine.ensure_removed(name)
        case Hurt.REBOOT:
            _reboot(backend, agent)
        case Hurt.ENGINE:
            _restart_engine()


def _reboot(backend: Backend, agent: Agent) -> None:
    """As its node's reboot leaves it: container down, keys out of memory, workspace unmounted. No
    pass runs in the middle of it, as none does while a host is down."""
    lease = _hold(agent)
    try:
        backend.engine.ensure_stopped(names.container(agent.pk), grace=0)
        boot.let_go(backend, agent)
        lease.write(due_at=now())  # a node that starts looks at all its agents
    finally:
        lease.release()


def _hold(agent: Agent) -> Lease:
    ends = time.monotonic() + PATIENCE
    while (lease := Lease.claim(agent.pk)) is None:
        if time.monotonic() > ends:
            raise NoVerdict("agent_busy", "The node is at work on it. Start the drill again later.")
        time.sleep(0.1)
    return lease


def _restart_engine() -> None:
    argv = shlex.split(settings.ROOST_DRILL_ENGINE_COMMAND)
    try:
        with unbounded():
            subprocess.run(argv, check=True, capture_output=True, timeout=ENGINE_PATIENCE)
    except (OSError, subprocess.SubprocessError) as error:
        said = f"The engine could not be restarted ({type(error).__name__}). Ask your operator."
        raise NoVerdict("engine_restart_failed", said) from error
