"""The whole lifecycle in one pure table: what is wanted and what was seen, to status and step.

No clock, no database, no engine: reconcile.py looks and acts, this decides. Every sequence
of wishes and observations settles, which the tests prove with Hypothesis.
"""

from dataclasses import dataclass
from enum import Enum, auto

from controlplane.agents.lifecycle import Goal, Status
from provisioner.engines.base import Container

CRASH_BUDGET = 5  # ends that count (see look.weigh) within CRASH_WINDOW before we stop trying
CRASH_WINDOW = 600  # seconds
GIVEN_UP = frozenset({Status.FAILED, Status.CRASH_LOOPING})
SHIM_REFUSED = 78  # the boot shim's exit code: workspace or keys not there (yet)
SHIM_UNFIT = 64  # ... and: the settings do not fit, and no waiting mends that


class Step(Enum):
    CREATE = auto()  # workspace, keys, network, container; start
    START = auto()  # mount and key again, then start the container that is there
    REPLACE = auto()  # preflight, stop, remove, create
    NUDGE = auto()  # mount and key again, then out of the engine's back-off
    RESTORE = auto()  # mount and key again beside the container that runs
    SWAP = auto()  # stop, then put another disk in the workspace's place
    SET_UP = auto()  # it is up and blank: its headless first run
    STOP = auto()  # for good
    REMOVE = auto()  # container, keys, mount
    WAIT = auto()  # something is under way that needs no help
    NONE = auto()


@dataclass(frozen=True)
class Wish:
    goal: Goal
    release: int
    restart: int  # how many restarts people have asked for
    changed: bool  # something is wanted that no pass has seen yet


@dataclass(frozen=True)
class Seen:
    container: Container | None
    healthy: bool = False
    was_ready: bool = False  # this life of the container has answered before
    ever_ready: bool = False
    crashes: float = 0  # what was spent of the restart budget within the window
    status: Status = Status.PENDING
    overdue: bool = False  # past the deadline of its status
    held: bool = False  # the node still holds its mounts or keys
    keyed: bool = True  # the node can talk to it
    swap: bool = False  # another disk is to take its workspace's place
    set_up: bool = True  # its runtime's first run is done, or it has none


@dataclass(frozen=True)
class Decision:
    status: Status
    step: Step
    reason: str = ""


def decide(wish: Wish, seen: Seen) -> Decision:
    match wish.goal:
        case Goal.DELETED:
            return _delete(wish, seen)
        case Goal.STOPPED:
            return _stop(wish, seen, Status.STOPPED)
        case Goal.SUSPENDED:
            return _stop(wish, seen, Status.SUSPENDED)
        case Goal.RUNNING:
            return _run(wish, seen)


def _delete(wish: Wish, seen: Seen) -> Decision:
    if seen.container is None and not seen.held:
        return Decision(Status.DELETED, Step.NONE)
    if _late(wish, seen, Status.DELETING):
        return Decision(Status.FAILED, Step.REMOVE, "delete_timed_out")
    return Decision(Status.DELETING, Step.REMOVE)


def _stop(wish: Wish, seen: Seen, end: Status) -> Decision:
    active = seen.container is not None and (
        seen.container.up or seen.container.state == "restarting"
    )
    if not active and not seen.held and not seen.swap:
        return Decision(end, Step.NONE)
    if _late(wish, seen, Status.STOPPING):
        return Decision(Status.FAILED, Step.STOP, "stop_timed_out")
    if not active and not seen.held:
        return Decision(Status.STOPPING, Step.SWAP)
    return Decision(Status.STOPPING, Step.STOP)


def _run(wish: Wish, seen: Seen) -> Decision:
    container = seen.container
    coming = Status.RESTARTING if seen.ever_ready else Status.STARTING
    if seen.swap:
        # How often it ended on the disk it has says nothing about the one that it waits for.
        return Decision(coming, Step.SWAP)
    if seen.status in GIVEN_UP and not wish.changed:
        return _stay_down(seen)
    if seen.crashes >= CRASH_BUDGET:
        memory = container is not None and container.out_of_memory
        reason = "out_of_memory" if memory else "restart_budget_used_up"
        return Decision(Status.CRASH_LOOPING, _free(seen), reason)
    if not wish.changed and seen.overdue and not _well(wish, seen):
        return Decision(Status.FAILED, _free(seen), "start_timed_out")
    if container is None:
        return Decision(coming, Step.CREATE)
    if container.release != wish.release or container.restart != wish.restart:
        return Decision(coming, Step.REPLACE)
    unfit = container.exit_code == SHIM_UNFIT and container.state != "running"
    if unfit and not wish.changed:
        return Decision(Status.FAILED, _free(seen), "settings_unfit")
    if container.state == "restarting":
        refused = container.exit_code == SHIM_REFUSED
        return Decision(coming, Step.NUDGE if refused else Step.WAIT)
    if container.state != "running":
        return Decision(coming, Step.START)
    if not container.connected:
        return Decision(coming, Step.REPLACE)
    if not seen.keyed:
        return Decision(coming, Step.RESTORE)
    if seen.healthy and not seen.set_up:
        return Decision(coming, Step.SET_UP)
    if seen.healthy:
        return Decision(Status.RUNNING, Step.NONE)
    if seen.was_ready:
        return Decision(Status.DEGRADED, Step.NONE, "not_answering")
    return Decision(coming, Step.WAIT)


def _well(wish: Wish, seen: Seen) -> bool:
    """What is wanted runs, answers, and lacks nothing: an old release that answers is not that."""
    container = seen.container
    if container is None or container.state != "running":
        return False
    wanted = container.release == wish.release and container.restart == wish.restart
    return seen.healthy and wanted and container.connected and seen.keyed and seen.set_up


def _stay_down(seen: Seen) -> Decision:
    """Given up on until people want something: nothing of it may run or hold memory."""
    return Decision(seen.status, _free(seen), "")


def _free(seen: Seen) -> Step:
    container = seen.container
    active = container is not None and (container.up or container.state == "restarting")
    return Step.STOP if active or seen.held else Step.NONE


def _late(wish: Wish, seen: Seen, status: Status) -> bool:
    return seen.overdue and seen.status in {status, Status.FAILED} and not wish.changed
