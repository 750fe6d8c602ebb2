"""One upgrade, from claim to outcome.

Each step is written down before the next begins, so a worker that died is followed by another that
goes on there. Up to the switch nothing was changed and all is looked at anew; from the switch on
the agent is what it wants to be by its own passes, worker or no worker, and is only watched. That
it is to be rolled back is written before anything is done for it.
"""

from django.db import transaction
from django.utils.timezone import now

from controlplane.agents.lifecycle import Goal
from controlplane.errors import Refusal
from controlplane.jobs.claim import Claim
from controlplane.upgrades.models import Outcome
from controlplane.upgrades.moving import ChangedMeanwhile, switch
from provisioner.backend import Backend
from provisioner.engines.base import EngineRefused, EngineUnavailable
from provisioner.look import target
from provisioner.snapshots import manifest
from provisioner.snapshots.take import PLAIN, reason_of
from provisioner.upgrades import back, ending, health, keeping
from provisioner.upgrades.checking import AS_IT_WAS, is_up, preflight
from provisioner.upgrades.errors import NotBack, NotGood, NotJudged, Refused
from provisioner.upgrades.losses import Lost, config_files, lost
from provisioner.upgrades.reading import told
from provisioner.upgrades.work import Work, work_on
from provisioner.workspaces.base import WorkspaceTrouble
from runtimes.catalog import CATALOG

MOST = 50  # lost keys that are listed
STOPPED = (
    "It was not running, so the new version has not run yet. It first runs at its next start, and "
    "is judged then by the usual deadline alone; the snapshot from before is kept."
)
SILENT = "It answered a message before the upgrade, and does not with the new version."


def run(claim: Claim, backend: Backend) -> None:
    """Raises ClaimLost."""
    work = work_on(claim, backend)
    if work is None:
        claim.fail("no_snapshots_here", PLAIN, step="", outcome=Outcome.NOT_RUN)
        return
    try:
        _go(work)
    except Refused as why:
        ending.not_run(work, why.reason, str(why))
    except ChangedMeanwhile as what:
        if work.upgrade.release_made is None:
            ending.not_run(work, "changed_meanwhile", str(what))
        else:
            ending.unjudged(work, str(what))
    except NotJudged as why:
        ending.not_judged(work, why.reason, str(why))
    except NotBack as why:
        ending.rollback_failed(work, why)
    keeping.forget_compared(work)


def _go(work: Work) -> None:
    try:
        if work.upgrade.release_made is None:
            _prepare(work)
            _switch(work)
        if work.upgrade.reason:  # decided by a worker that died
            raise NotGood(work.upgrade.reason, work.upgrade.message)
        _judge(work)
    except NotGood as why:
        back.roll_back(work, why)
        ending.rolled_back(work)


# --- before -----------------------------------------------------------------------------------
def _prepare(work: Work) -> None:
    """Raises Refused."""
    upgrade, backend = work.upgrade, work.backend
    try:
        keeping.forget(work)  # of a worker that died: the agent went on meanwhile
        work.note(step="checking")
        agent = preflight(backend, upgrade)
        work.note(was_up=is_up(agent))
        if upgrade.was_up and upgrade.spoke_before is None:
            work.note(step="asking")
            work.note(spoke_before=_speaks(work))
        if agent.workspace_made_at is not None:
            keeping.keep(work)
        preflight(backend, upgrade)  # it may have changed while its files were hashed
    except (EngineUnavailable, EngineRefused) as trouble:
        raise Refused("engine_trouble", f"The engine: {trouble}. {AS_IT_WAS}") from trouble
    except WorkspaceTrouble as trouble:
        raise Refused(reason_of(trouble), f"{trouble} {AS_IT_WAS}") from trouble


def _speaks(work: Work) -> bool | None:
    """None where it cannot be asked so."""
    found = target(work.backend, work.agent())
    return work.backend.prober.speaks(found) if found is not None else None


def _switch(work: Work) -> None:
    """Raises Refused, ChangedMeanwhile."""
    work.note(step="switching")
    try:
        with transaction.atomic():
            before, made = switch(work.upgrade)
            work.note(
                release_made=made.number,
                release_before=before.number,
                switched_at=now(),
                step="starting",
            )
    except Refusal as error:
        work.upgrade.release_made = None
        raise Refused(error.code, str(error)) from error


# --- after ------------------------------------------------------------------------------------
def _judge(work: Work) -> None:
    """Raises NotGood, NotJudged, ChangedMeanwhile."""
    upgrade = work.upgrade
    if not upgrade.was_up and work.agent().goal != Goal.RUNNING:
        ending.kept(work, STOPPED)
        return
    assert upgrade.switched_at is not None  # noqa: S101  written in `_switch`
    work.note(step="starting")
    where = (upgrade.agent_id, upgrade.to_image)
    healthy = health.until_running(*where, upgrade.switched_at)
    work.note(healthy_at=healthy)
    if upgrade.spoke_before:
        work.note(step="asking_again")
        answered = _speaks(work)
        if not answered:  # its engine may have restarted: once more, when all is well for a while
            health.until_steady(*where)
            answered = _speaks(work)
        work.note(spoke_after=answered)
        if not upgrade.spoke_after:
            health.look(*where)  # who was stopped meanwhile says nothing about the new version
            raise NotGood("does_not_answer", SILENT)
    health.until_steady(*where)
    work.note(step="comparing")
    try:
        missing = _lost(work)
    except WorkspaceTrouble as trouble:
        ending.kept(work, f"Its configuration could not be compared: {trouble}")
        return
    if missing:
        work.note(config_lost=[_row(one) for one in missing[:MOST]])
        raise NotGood("config_lost", _sentence(missing))
    ending.kept(work)


def _lost(work: Work) -> list[Lost]:
    """A copy of what it stands on now is read, not the live files. Raises WorkspaceTrouble."""
    upgrade, clones = work.upgrade, work.clones
    runtime, snapshot = CATALOG[upgrade.agent.runtime], upgrade.snapshot
    if snapshot is None or not runtime.config:
        return []
    agent_id = upgrade.agent_id
    try:
        before = manifest.read(clones.manifest(agent_id, snapshot.pk))
        files = config_files(before, runtime.config)
        if not files:
            return []
        clones.drop(agent_id, upgrade.pk)  # of a worker that died: it is of another time
        clones.take(agent_id, upgrade.pk)
        with (
            clones.opened(agent_id, snapshot.pk) as old,
            clones.opened(agent_id, upgrade.pk) as new,
        ):
            return lost(files, old / "data", new / "data", runtime.config_may_drop)
    except (OSError, ValueError) as error:
        raise WorkspaceTrouble(f"The copies cannot be read: {error}.") from error
    finally:
        clones.drop(agent_id, upgrade.pk)


def _row(one: Lost) -> dict[str, str]:
    return {"file": told(one.file), "key": told(one.key)}


def _sentence(missing: list[Lost]) -> str:
    first = "; ".join(map(str, missing[:3]))
    others = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    return f"The new version lost of its configuration: {first}{others}."
