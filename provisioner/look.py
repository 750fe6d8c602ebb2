"""Looking at one agent: what its container is, whether it answers, how often it ended."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.utils.timezone import now

from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.models import Agent, Cause
from provisioner import memory, names, networks
from provisioner.backend import Backend
from provisioner.engines.base import DOWN, Container
from provisioner.plan import CRASH_WINDOW, GIVEN_UP, Seen, Wish
from provisioner.probe import Target
from provisioner.snapshots import swap
from runtimes.catalog import CATALOG

Crashes = list[tuple[str, float]]  # (ISO time, what it takes from the restart budget)
LIGHT = 0.2

# Another version's first boot, as long as it is not quiet: see _migrates.
MOVES = {Cause.UPGRADED, Cause.ROLLED_BACK}
MIGRATION_TIMES = 4
QUIET_S = 60

# An agent that was well is asked for this long before it is called deaf.
BENEFIT_OF_DOUBT = 1.5


@dataclass(frozen=True)
class Look:
    wish: Wish
    seen: Seen
    crashes: Crashes  # within the window, the new ones included
    new_ends: int

    @property
    def life(self) -> str:
        return self.seen.container.life if self.seen.container else ""


def look(backend: Backend, agent: Agent, patience: float = 0) -> Look:
    """Raises EngineUnavailable. Waits up to `patience` seconds for an answer of the agent."""
    assert agent.release is not None  # noqa: S101  set in the transaction that made the agent
    container, healthy = _see(backend, agent, patience)
    wish = Wish(
        goal=Goal(agent.goal),
        release=agent.release.number,
        restart=agent.restart_serial,
        changed=agent.observed_generation != agent.generation,
    )
    new_ends = 0 if wish.goal != Goal.RUNNING else count_ends(agent.life, container)
    weight = weigh(new_ends, container, was_ready=agent.ready_life == agent.life)
    crashes = recent([] if wish.changed else agent.crashes, weight)
    was_ready = container is not None and agent.ready_life == container.life
    seen = Seen(
        container=container,
        healthy=healthy,
        was_ready=was_ready,
        ever_ready=agent.ready_at is not None,
        crashes=spent(crashes),
        status=_status(agent, container),
        overdue=_overdue(backend, agent, container),
        held=_held(backend, agent),
        keyed=backend.keys.find(agent.pk) is not None,
        swap=swap.wanted(agent),
        set_up=container is None or is_set_up(agent, container),
    )
    return Look(wish, seen, crashes, new_ends)


def _held(backend: Backend, agent: Agent) -> bool:
    """A deleted agent must not keep its address either; a stopped one keeps it for life."""
    mounted = backend.workspaces.held(agent.pk) or backend.keys.held(agent.pk)
    return mounted or (agent.goal == Goal.DELETED and networks.find(agent) is not None)


def _see(backend: Backend, agent: Agent, patience: float) -> tuple[Container | None, bool]:
    """The container, and whether it answers. No answer may mean that it ended while we asked, so
    then the engine is asked once more."""
    name = names.container(agent.pk)
    container = backend.engine.inspect(name)
    if _healthy(backend, agent, container, patience):
        return container, True
    if container is not None and container.state == "running":
        container = backend.engine.inspect(name)
    return container, False


def _healthy(backend: Backend, agent: Agent, container: Container | None, patience: float) -> bool:
    if agent.goal != Goal.RUNNING or container is None or container.state != "running":
        return False
    found = target(backend, agent, container.address)
    if found is None:
        return False
    if not is_set_up(agent, container):
        found = replace(found, blank=True)
    was_ready = agent.ready_life == container.life
    return backend.prober.wait(found, max(patience, BENEFIT_OF_DOUBT if was_ready else 0))


def _status(agent: Agent, container: Container | None) -> Status:
    """As it is written; unless it was given up on before the database went back, and is up: then
    something came of it since, and it is judged anew."""
    status = Status(agent.status)
    up = container is not None and (container.up or container.state == "restarting")
    if up and status in GIVEN_UP and memory.is_stale(agent.status_since):
        return Status.UNKNOWN
    return status


def _overdue(backend: Backend, agent: Agent, container: Container | None) -> bool:
    if agent.deadline_at is None or now() <= agent.deadline_at:
        return False
    if memory.is_stale(agent.deadline_at):
        return False
    return not _migrates(backend, agent, agent.deadline_at, container)


def _migrates(
    backend: Backend, agent: Agent, deadline: datetime, container: Container | None
) -> bool:
    """The first boot of another version may have to bring up to date what an older one left in the
    workspace: for as long as it says something, it is given several times the usual."""
    release = agent.release
    if release is None or release.cause not in MOVES or agent.observed_release >= release.number:
        return False
    if container is None or container.state != "running":
        return False
    more = (MIGRATION_TIMES - 1) * CATALOG[agent.runtime].start_deadline_s
    if now() > deadline + timedelta(seconds=more):
        return False
    said = backend.engine.log_tail(container.name, 1)
    return bool(said) and now() - datetime.fromisoformat(said[-1].at) < timedelta(seconds=QUIET_S)


def target(backend: Backend, agent: Agent, address: str | None = None) -> Target | None:
    """Where the agent answers; None while it has no keys or address."""
    held, address = backend.keys.find(agent.pk), address or agent.address
    if held is None or address is None:
        return None
    return Target(agent.pk, CATALOG[agent.runtime], address, held.token, held.own)


def is_set_up(agent: Agent, container: Container) -> bool:
    """Whether this container had its runtime's headless first run, where there is one."""
    return CATALOG[agent.runtime].setup is None or agent.set_up_for == container.id


def count_ends(life: str, container: Container | None) -> int:
    """How often it ended since we last saw it; 0 where we were the ones who changed it."""
    if not life or container is None:
        return 0
    old_id, old_start, old_ends = life.rsplit(" ", 2)
    new_id, new_start, new_ends = container.life.rsplit(" ", 2)
    if old_id != new_id:
        return 0
    more = int(new_ends) - int(old_ends)
    if more > 0:
        return more
    # What was down when we last looked had its end counted then.
    return 1 if old_start not in {new_start, DOWN} else 0


def weigh(ends: int, container: Container | None, was_ready: bool) -> float:
    """What `ends` take from the restart budget. One that had come up well and was ended (by a
    drill, by its owner, by a crash after long work) says little; one that does not come up, or
    runs out of memory, says that trying again will not help."""
    if ends == 0:
        return 0
    memory = container is not None and container.out_of_memory
    first = LIGHT if was_ready and not memory else 1
    return first + (ends - 1)


def recent(crashes: Crashes, weight: float) -> Crashes:
    """The budget's entries within its window, and a new one."""
    moment = now()
    oldest = moment - timedelta(seconds=CRASH_WINDOW)
    kept = [entry for entry in crashes if datetime.fromisoformat(entry[0]) > oldest]
    return [*kept, (moment.isoformat(), weight)][-50:] if weight else kept


def spent(crashes: Crashes) -> float:
    return sum(weight for _, weight in crashes)
