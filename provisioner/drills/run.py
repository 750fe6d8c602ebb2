"""One drill, from claim to verdict.

Each step is written down before the next begins, so a worker that died is followed by another that
goes on there. Whether the agent was ended already is seen by its container's life: it is never
ended twice. It is wanted running all the while, so the node brings it back, drill or no drill.
"""

from datetime import timedelta
from functools import partial

from django.db import transaction
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.drills.models import Drill, Verdict
from controlplane.jobs.claim import Claim
from controlplane.snapshots.models import Origin, Snapshot
from provisioner import names
from provisioner.backend import Backend
from provisioner.drills import alarm, hurting, recovery, resting
from provisioner.drills.comparing import Comparison, compare
from provisioner.drills.errors import NotBack, NoVerdict
from provisioner.drills.report import report_of, sentence
from provisioner.engines.base import EngineRefused, EngineUnavailable
from provisioner.look import target
from provisioner.snapshots import manifest, take
from provisioner.workspaces.base import Clones, WorkspaceLost, WorkspaceTrouble
from runtimes.catalog import CATALOG

GONE = "The snapshot of the drill was deleted meanwhile, so there is nothing to compare with."


def run(claim: Claim, backend: Backend) -> None:
    """Raises ClaimLost."""
    related = ("agent", "agent__release", "snapshot")
    drill = Drill.objects.select_related(*related).get(pk=claim.job_id)
    clones = backend.workspaces.clones
    if clones is None:
        _no_verdict(claim, drill, "no_snapshots_here", take.PLAIN)
        return
    try:
        if not drill.verdict:
            _hurt(claim, backend, clones, drill)
            _recover(claim, backend, drill)
            _compare(claim, backend, clones, drill)
    except NoVerdict as why:
        _forget_unused(clones, drill)
        _no_verdict(claim, drill, why.reason, str(why))
    except (EngineUnavailable, EngineRefused) as trouble:
        _no_verdict(claim, drill, "engine_trouble", f"The engine: {trouble}")
    except NotBack as why:
        _fail(claim, drill, "not_back", str(why), answered=False)
    except WorkspaceLost as lost:
        _fail(claim, drill, "workspace_lost", str(lost))
    except WorkspaceTrouble as trouble:
        _no_verdict(claim, drill, take.reason_of(trouble), str(trouble))
    else:
        _finish(claim, clones, drill)


# --- before -----------------------------------------------------------------------------------
def _hurt(claim: Claim, backend: Backend, clones: Clones, drill: Drill) -> None:
    if drill.killed_at is not None and not recovery.same_life(backend, drill):
        return
    _note(claim, drill, step="checking", baseline_ms=_usual_boot_ms(drill))
    hurting.refuse_closed(drill.kind)
    _refuse(drill)
    _remember(claim, backend, clones, drill)
    agent = _refuse(drill)  # a turn may have begun since
    container = backend.engine.inspect(names.container(agent.pk))
    if container is None or container.life != agent.ready_life:
        raise NoVerdict("not_running", "It ended by itself before the drill. Start another.")
    _note(claim, drill, step="ending", life_before=container.life, killed_at=now())
    hurting.hurt(backend, agent, drill.kind)


def _refuse(drill: Drill) -> Agent:
    """Raises NoVerdict."""
    agent = resting.refuse_unfit(drill.agent_id)
    if not drill.force:
        resting.refuse_in_turn(agent)
    return agent


def _usual_boot_ms(drill: Drill) -> int:
    return round(CATALOG[drill.agent.runtime].start_usual_s * 1000)


def _remember(claim: Claim, backend: Backend, clones: Clones, drill: Drill) -> None:
    """What it had: a snapshot with the hash of every file, and how long its conversation is."""
    _note(claim, drill, messages_before=_messages(backend, drill))
    whose = (drill.agent, Origin.DRILL, drill.requested_by, drill.snapshot)
    take.for_job(partial(_note, claim, drill), clones, *whose)


# --- after ------------------------------------------------------------------------------------
def _recover(claim: Claim, backend: Backend, drill: Drill) -> None:
    if drill.recovered_at is not None:
        return
    _note(claim, drill, step="recovering")
    back = recovery.until_back(backend, drill)
    assert drill.killed_at is not None  # noqa: S101  written in `_hurt`
    took = (back - drill.killed_at) / timedelta(milliseconds=1)
    _note(claim, drill, recovered_at=back, recovery_ms=round(took), answered=True)


def _compare(claim: Claim, backend: Backend, clones: Clones, drill: Drill) -> None:
    """A copy of what it stands on now is read, not the live files: nobody changes it meanwhile."""
    if drill.snapshot is None:
        raise NoVerdict("snapshot_gone", GONE)
    _note(claim, drill, step="comparing")
    messages = _messages(backend, drill)
    clones.drop(drill.agent_id, drill.pk)  # of a worker that died: it is of another time
    clones.take(drill.agent_id, drill.pk)
    try:
        with clones.opened(drill.agent_id, drill.pk) as root:
            after = manifest.of(root / "data")
        before = manifest.read(clones.manifest(drill.agent_id, drill.snapshot.pk))
    except (OSError, ValueError) as error:
        raise WorkspaceTrouble(f"The copies cannot be read: {error}.") from error
    finally:
        clones.drop(drill.agent_id, drill.pk)
    found = compare(before, after, CATALOG[drill.agent.runtime].volatile)
    _judge(claim, drill, found, messages)


def _judge(claim: Claim, drill: Drill, found: Comparison, messages: int | None) -> None:
    had = drill.messages_before
    reachable = None if had is None else messages is not None and messages >= had
    passed = not found.lost and reachable is not False
    _note(
        claim,
        drill,
        conversation_reachable=reachable,
        files_compared=found.files,
        files_equal=found.equal,
        bytes_compared=found.size,
        differences=found.differences,
        report=report_of(drill, found, messages),
        reason="" if passed else "not_as_before",
        message="" if passed else sentence(found, reachable)[:500],
        verdict=Verdict.PASSED if passed else Verdict.FAILED,
    )


def _messages(backend: Backend, drill: Drill) -> int | None:
    """How long its main conversation is; None where it cannot say."""
    agent = Agent.objects.get(pk=drill.agent_id)
    found = target(backend, agent)
    if found is None or "history" not in found.runtime.capabilities:
        return None
    return backend.prober.messages(found)


# --- its end ----------------------------------------------------------------------------------
def _finish(claim: Claim, clones: Clones, drill: Drill) -> None:
    """One that passed needs its snapshot no more."""
    snapshot = drill.snapshot
    if drill.verdict == Verdict.PASSED and snapshot is not None:
        clones.drop(drill.agent_id, snapshot.pk)
    with transaction.atomic():
        claim.finish(step="")
        if drill.verdict == Verdict.PASSED:
            if snapshot is not None:
                snapshot.delete()
            alarm.all_clear(drill.agent, _survived(drill))
        else:
            alarm.ring(drill.agent, drill.reason, drill.message)


def _survived(drill: Drill) -> str:
    took = (drill.recovery_ms or 0) / 1000
    files = f"{drill.files_equal} of {drill.files_compared} files as before"
    return f"{drill.get_kind_display()}: back after {took:.1f} s, {files}"


def _fail(claim: Claim, drill: Drill, reason: str, message: str, **columns: object) -> None:
    with transaction.atomic():
        claim.finish(
            step="", verdict=Verdict.FAILED, reason=reason, message=message[:500], **columns
        )
        alarm.ring(drill.agent, reason, message)


def _forget_unused(clones: Clones, drill: Drill) -> None:
    """Of one that was refused after all: nothing was ended, so nothing can be missing."""
    if drill.killed_at is None and drill.snapshot is not None:
        clones.drop(drill.agent_id, drill.snapshot.pk)
        Snapshot.objects.filter(pk=drill.snapshot.pk).delete()


def _no_verdict(claim: Claim, drill: Drill, reason: str, message: str) -> None:
    with transaction.atomic():
        claim.fail(reason, message, step="", verdict=Verdict.NOT_RUN)
        alarm.no_verdict(drill.agent, message)


def _note(claim: Claim, drill: Drill, **columns: object) -> None:
    """On the row and on the object. Raises ClaimLost."""
    claim.write(**columns)
    for name, value in columns.items():
        setattr(drill, name, value)
