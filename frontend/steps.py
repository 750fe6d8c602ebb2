"""What is happening while an agent starts, as a list of steps."""

from dataclasses import dataclass
from datetime import datetime

from controlplane.agents.models import Agent
from frontend.looks import Look, look_of
from frontend.verdicts import status_of
from runtimes.catalog import CATALOG, Runtime

STARTING = {"pending", "starting", "restarting"}
TODO = Look("todo", "todo", "To do")
BUSY = look_of("starting")
DONE = look_of("running")


@dataclass
class Step:
    title: str
    detail: str
    look: Look = TODO


@dataclass(frozen=True)
class Steps:
    since: datetime | None  # None: asked for, and no worker has begun
    usual: float  # seconds
    steps: list[Step]


def steps_of(agent: Agent) -> Steps | None:
    """None for an agent that is not on its way up."""
    if status_of(agent) not in STARTING:
        return None
    runtime = CATALOG.get(agent.runtime)
    usual = runtime.start_usual_s if runtime else 5.0
    since = agent.status_since if agent.status == status_of(agent) else None
    return Steps(since, usual, _first_start(agent, runtime) if runtime else [])


def _first_start(agent: Agent, runtime: Runtime) -> list[Step]:
    """Later starts find all of this made already."""
    if agent.ready_at is not None or agent.release is None:
        return []
    steps = [
        Step("Workspace", f"{agent.release.disk_gib} GiB, at /workspace"),
        Step("Container", "Read-only system, no privileges, keys held in memory only"),
        Step("First answer", f"{runtime.title} has booted; then it counts as running"),
    ]
    reached = {"workspace": 1, "container": 2}.get(agent.step, 0)
    for at, step in enumerate(steps):
        step.look = DONE if at < reached else BUSY if at == reached else TODO
    return steps
