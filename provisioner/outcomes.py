"""Writing down how a pass went: the decision in people's words, or what kept it from acting."""

from dataclasses import dataclass, replace
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils.timezone import now

from controlplane.agents.lease import Lease
from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.models import Agent, Level
from controlplane.agents.timeline import tell
from controlplane.keys.vault import VaultUnavailable
from controlplane.tenants.errors import OrganisationPaused
from provisioner import names, words, words_disk
from provisioner.backend import Backend
from provisioner.delivery import KeyGone
from provisioner.disks import newest
from provisioner.engines.base import (
    AddressTaken,
    EngineRefused,
    EngineUnavailable,
    ImageMissing,
    IsolationMissing,
)
from provisioner.guard import GuardError
from provisioner.look import Look, recent, spent
from provisioner.networks import PoolExhausted
from provisioner.plan import CRASH_BUDGET, Decision, Step
from provisioner.report import report
from provisioner.snapshots import keeping
from provisioner.turns import BOOTING, NoTurn
from provisioner.workspaces.base import (
    BeginningFailed,
    WorkspaceComing,
    WorkspaceForeign,
    WorkspaceLost,
    WorkspaceTrouble,
)
from runtimes.adapter import RuntimeProblem
from runtimes.catalog import CATALOG

EXPECTED = (
    VaultUnavailable,
    KeyGone,
    OrganisationPaused,
    EngineUnavailable,
    EngineRefused,
    WorkspaceTrouble,
    GuardError,
    PoolExhausted,
    NoTurn,
    RuntimeProblem,
)
# Once an operator has brought what lacks, or the agent has moved, all goes on.
MENDS = (ImageMissing, IsolationMissing, AddressTaken)
NODE_TROUBLES: dict[type[Exception], str] = {
    GuardError: "guard_missing",
    PoolExhausted: "networks_used_up",
    WorkspaceTrouble: "workspace_trouble",
}
DOWN = {"restart_budget_used_up", "out_of_memory", "settings_unfit", "start_timed_out"}
AGAIN = {Step.CREATE, Step.REPLACE, Step.START, Step.NUDGE, Step.RESTORE, Step.SWAP}
SET_UP_FAILED = "set_up_failed"
GRACE_BEFORE_START = 30  # seconds on top of a runtime's deadline, for what comes before its boot


def write(lease: Lease, agent: Agent, backend: Backend, found: Look, decision: Decision) -> None:
    """The decision, before it is carried out. Raises LeaseLost."""
    runtime = CATALOG[agent.runtime]
    columns: dict[str, object] = {
        "observed_generation": agent.generation,
        "life": found.life,
        "crashes": found.crashes,
    }
    container = found.seen.container
    deleted = decision.status == Status.DELETED and agent.purge_at is None
    if decision.status == Status.RUNNING and container is not None:
        columns |= {
            "address": container.address,
            "ready_life": container.life,
            "observed_release": container.release,
            "step": "",
        }
        if agent.status != Status.RUNNING:
            columns["ready_at"] = now()
    elif deleted:
        grace = timedelta(seconds=settings.ROOST_DELETE_GRACE_SECONDS)
        columns["purge_at"] = now() + grace
    elif found.wish.goal != Goal.DELETED:
        columns["purge_at"] = None  # it was brought back
    if decision.status not in BOOTING:
        columns["booting_since"] = None
    if agent.due_at is None and decision.step is not Step.NONE:
        # Should this worker die now, the sweep finds the agent; a settled end clears it.
        columns["due_at"] = now()
    status, message = decision.status, _message(agent, backend, found, decision)
    if _held_up(agent, decision):
        status, message = Status(agent.status), agent.message
    meddled = words.meddled_with(agent, found.wish, found.seen)
    # What kept a deleted one from going is over; of others a reason is of their status.
    lasting = agent.reason if status == agent.status != Status.DELETED else ""
    with transaction.atomic():
        if meddled:
            lease.write(life=found.life)  # under the fence: a stale worker tells nothing
            tell(agent, "meddled", meddled, detail=words.HEALS, level=Level.WARN)
        report(
            lease,
            agent,
            status,
            reason=decision.reason or lasting,
            message=message,
            deadline_s=(
                runtime.start_deadline_s + GRACE_BEFORE_START if status in BOOTING else None
            ),
            **columns,
        )
        if deleted:
            keeping.keep_last(backend, agent)
        if found.new_ends:
            # Under the fence of the write above: a stale worker tells nothing.
            _tell_of_ends(agent, found, goes_on=decision.step is not Step.STOP)


def _held_up(agent: Agent, decision: Decision) -> bool:
    """A step is tried again that the node could not do: it waits until that goes well, or each try
    would be two lines of the timeline."""
    held = {*NODE_TROUBLES.values(), "importing"}
    waits = Status.STOPPING if decision.status == Status.STOPPING else Status.WAITING
    return decision.step in AGAIN and agent.status == waits and agent.reason in held


def _message(agent: Agent, backend: Backend, found: Look, decision: Decision) -> str:
    runtime = CATALOG[agent.runtime]
    if decision.reason in DOWN:
        return _why_it_is_down(agent, backend, found, decision.reason)
    if decision.reason in words.TIMED_OUT:
        return words.TIMED_OUT[decision.reason]
    if decision.step is Step.SET_UP and agent.reason == SET_UP_FAILED:
        return agent.message  # each try would be two lines of the timeline
    match decision.status:
        case Status.STARTING | Status.RESTARTING:
            return words.starting(runtime)
        case Status.DEGRADED:
            return words.NOT_ANSWERING
        case Status.FAILED | Status.CRASH_LOOPING:
            return agent.message  # it stays down for the reason it went down
    return ""


def _why_it_is_down(agent: Agent, backend: Backend, found: Look, reason: str) -> str:
    runtime = CATALOG[agent.runtime]
    log = backend.engine.log_tail(names.container(agent.pk), 40)
    level, usage = newest(backend.workspaces, agent)
    hard = agent.quota_enforcement != "advisory"
    if full := words_disk.first_of_all(level, usage, log, hard=hard):
        return full
    match reason:
        case "settings_unfit":
            return words.settings_unfit(log)
        case "start_timed_out" if agent.reason == SET_UP_FAILED:
            return words.set_up_timed_out(runtime)
        case "start_timed_out":
            return words.start_timed_out(runtime)
    memory = agent.release.memory_mb if agent.release else 0
    return words.crash_looping(found.seen.container, memory, log)


def _tell_of_ends(agent: Agent, found: Look, *, goes_on: bool) -> None:
    container = found.seen.container
    assert container is not None  # noqa: S101  ends are counted on a container
    cause = words.cause_of_end(container, agent.release.memory_mb if agent.release else 0)
    times = f" ({found.new_ends} times)" if found.new_ends > 1 else ""
    tell(
        agent,
        "ended",
        f"It ended{times}: {cause.removeprefix('it ')}",
        detail="Nothing in its workspace is lost"
        + ("; it comes up again by itself." if goes_on else "."),
        level=Level.WARN,
    )


@dataclass(frozen=True)
class Told:
    status: Status
    reason: str
    message: str
    again_s: int | None  # None: an end, until people want something


def explain(lease: Lease, agent: Agent, trouble: Exception) -> None:
    """What kept the pass from acting, and when the sweep tries again. Raises LeaseLost."""
    told = _told(agent, trouble)
    if agent.goal == Goal.DELETED and agent.status == Status.DELETED:
        # What it stays: the last use of its workspace is held against the clock of that (see
        # older.refuse_purge), which no trouble of the node may set anew.
        told = replace(told, status=Status.DELETED)
    crashes = agent.crashes
    if isinstance(trouble, EngineRefused) and not isinstance(trouble, MENDS):
        crashes = recent(agent.crashes, 1)
        if spent(crashes) >= CRASH_BUDGET and agent.goal == Goal.RUNNING:
            told = Told(
                Status.FAILED,
                "engine_refused",
                f"The node could not start it, {CRASH_BUDGET} times: {trouble}. "
                "Its workspace is kept. Start it again, or ask your operator.",
                None,
            )
    due = now() + timedelta(seconds=told.again_s) if told.again_s is not None else now()
    report(
        lease,
        agent,
        told.status,
        reason=told.reason,
        message=told.message,
        observed_generation=agent.generation,
        crashes=crashes,
        due_at=due,
        **({} if told.status in BOOTING else {"booting_since": None}),
    )


def _told(agent: Agent, trouble: Exception) -> Told:
    goes_on = "It goes on by itself."
    waiting = Status.WAITING
    if agent.goal == Goal.DELETED:
        waiting = Status.DELETING
    elif agent.goal != Goal.RUNNING:
        waiting = Status.STOPPING
    match trouble:
        case VaultUnavailable():
            return Told(
                waiting,
                trouble.code,
                f"Its keys cannot be read, so it cannot start: {trouble} {goes_on}",
                3,
            )
        case KeyGone():
            return Told(waiting, "key_gone", str(trouble), 30)
        case NoTurn():
            return Told(waiting, "boot_queue", f"{trouble} {goes_on}", 1)
        case RuntimeProblem():
            # What a runtime answered may hold a key, and this is stored and shown.
            said = words.said(str(trouble))
            message = f"Its first run did not succeed yet: {said} It is tried again."
            return Told(Status(agent.status), SET_UP_FAILED, message, 2)
        case OrganisationPaused():
            return Told(waiting, trouble.code, str(trouble), 30)
        case EngineUnavailable():
            return Told(
                Status.UNKNOWN,
                "engine_silent",
                "The engine on its node does not answer, so nobody knows how it is; most likely "
                f"it goes on. {goes_on}",
                3,
            )
        case ImageMissing():
            message = f"{trouble} An operator builds it with `make images`. {goes_on}"
            return Told(waiting, "image_missing", message, 10)
        case IsolationMissing():
            # Waiting, so that what ran before goes on running: see decide.
            return Told(waiting, "isolation_missing", f"{trouble} {goes_on}", 30)
        case AddressTaken():
            message = (
                f"Something else on its network has its address. It moves to another. {goes_on}"
            )
            return Told(Status(agent.status), "address_taken", message, 1)
        case EngineRefused():
            status = Status(agent.status) if waiting is Status.WAITING else waiting
            message = f"The engine refused: {trouble}. It is tried again."
            return Told(status, "engine_refused", message, 2)
        case WorkspaceLost():
            return Told(Status.FAILED, "workspace_lost", str(trouble), None)
        case BeginningFailed():
            return Told(Status.FAILED, "import_failed", str(trouble)[:500], None)
        case WorkspaceComing():
            return Told(waiting, "importing", f"{trouble} {goes_on}"[:500], 2)
        case WorkspaceForeign():
            return Told(Status.FAILED, "workspace_foreign", str(trouble), None)
        case WorkspaceTrouble() | GuardError() | PoolExhausted():
            reason = NODE_TROUBLES.get(type(trouble), NODE_TROUBLES[WorkspaceTrouble])
            return Told(waiting, reason, f"{trouble} {goes_on}", 5)
    raise trouble
