"""Writing down how a pass went: the decision in people's words, or what kept it from acting."""

from dataclasses import dataclass
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
from provisioner import names, words
from provisioner.backend import Backend
from provisioner.boot import KeyGone
from provisioner.engines.base import EngineRefused, EngineUnavailable, ImageMissing
from provisioner.guard import GuardError
from provisioner.look import Look, recent, spent
from provisioner.networks import PoolExhausted
from provisioner.plan import CRASH_BUDGET, Decision, Step
from provisioner.report import report
from provisioner.workspaces.base import WorkspaceForeign, WorkspaceLost, WorkspaceTrouble
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
)
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
    if decision.status == Status.RUNNING and container is not None:
        columns |= {
            "address": container.address,
            "ready_life": container.life,
            "observed_release": container.release,
            "step": "",
        }
        if agent.status != Status.RUNNING:
            columns["ready_at"] = now()
    elif decision.status == Status.DELETED and agent.purge_at is None:
        grace = timedelta(seconds=settings.ROOST_DELETE_GRACE_SECONDS)
        columns["purge_at"] = now() + grace
    elif found.wish.goal != Goal.DELETED:
        columns["purge_at"] = None  # it was brought back
    if agent.due_at is None and decision.step is not Step.NONE:
        # Should this worker die now, the sweep finds the agent; a settled end clears it.
        columns["due_at"] = now()
    message = _message(agent, backend, found, decision)
    with transaction.atomic():
        report(
            lease,
            agent,
            decision.status,
            reason=decision.reason or (agent.reason if decision.status == agent.status else ""),
            message=message,
            deadline_s=(
                runtime.start_deadline_s + GRACE_BEFORE_START
                if decision.status in {Status.STARTING, Status.RESTARTING}
                else None
            ),
            **columns,
        )
        if found.new_ends:
            # Under the fence of the write above: a stale worker tells nothing.
            _tell_of_ends(agent, found, goes_on=decision.step is not Step.STOP)


def _message(agent: Agent, backend: Backend, found: Look, decision: Decision) -> str:
    runtime = CATALOG[agent.runtime]
    if decision.reason in {"restart_budget_used_up", "out_of_memory"}:
        name = names.container(agent.pk)
        memory = agent.release.memory_mb if agent.release else 0
        return words.crash_looping(found.seen.container, memory, backend.engine.log_tail(name, 40))
    if decision.reason == "start_timed_out":
        return words.start_timed_out(runtime)
    if decision.reason in words.TIMED_OUT:
        return words.TIMED_OUT[decision.reason]
    match decision.status:
        case Status.STARTING | Status.RESTARTING:
            return words.starting(runtime)
        case Status.DEGRADED:
            return words.NOT_ANSWERING
        case Status.FAILED | Status.CRASH_LOOPING:
            return agent.message  # it stays down for the reason it went down
    return ""


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
    crashes = agent.crashes
    if isinstance(trouble, EngineRefused) and not isinstance(trouble, ImageMissing):
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
        case EngineRefused():
            status = Status(agent.status) if waiting is Status.WAITING else waiting
            message = f"The engine refused: {trouble}. It is tried again."
            return Told(status, "engine_refused", message, 2)
        case WorkspaceLost():
            return Told(Status.FAILED, "workspace_lost", str(trouble), None)
        case WorkspaceForeign():
            return Told(Status.FAILED, "workspace_foreign", str(trouble), None)
        case WorkspaceTrouble() | GuardError() | PoolExhausted():
            reason = {
                GuardError: "guard_missing",
                PoolExhausted: "networks_used_up",
            }.get(type(trouble), "workspace_trouble")
            return Told(waiting, reason, f"{trouble} {goes_on}", 5)
    raise trouble
