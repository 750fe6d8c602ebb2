"""How an upgrade went: on its row, in a condition and in the timeline of its agent."""

from contextlib import suppress

from django.db import connection, transaction
from django.utils.timezone import now

from controlplane.agents.conditions import set_condition
from controlplane.agents.models import Level
from controlplane.agents.timeline import tell
from controlplane.audit.actor import SYSTEM
from controlplane.audit.record import record
from controlplane.jobs.claim import Claim, GivenUp, end_plainly
from controlplane.upgrades.models import UPGRADE, Halt, Outcome, Upgrade
from controlplane.upgrades.queries import TOO_MANY, failures_in_a_row, halt_of
from provisioner.backend import Backend
from provisioner.upgrades import keeping
from provisioner.upgrades.work import Work, work_on
from provisioner.workspaces.base import WorkspaceTrouble

FROM_BEFORE = (
    "on the workspace from before; what the new version had made of it is kept as a snapshot."
)


def kept(work: Work, message: str = "") -> None:
    upgrade = work.upgrade
    with transaction.atomic():
        work.claim.finish(step="", outcome=Outcome.KEPT, reason="", message=message[:500])
        set_condition(upgrade.agent, UPGRADE, status=True, reason="kept", message="")
        title = f"Upgraded from {upgrade.from_version} to {upgrade.to_version}"
        tell(upgrade.agent, "upgrade.kept", title, detail=message, level=Level.OK)
        keeping.ship(work)


def rolled_back(work: Work) -> None:
    upgrade = work.upgrade
    after = "It runs again" if upgrade.was_up else "It is wanted again"
    where = FROM_BEFORE if upgrade.restore_id else "as before."
    message = _fitting(upgrade.message, f"{after} with {upgrade.from_version}, {where}")
    title = f"The upgrade to {upgrade.to_version} was rolled back"
    _failed(work, Outcome.ROLLED_BACK, upgrade.reason, message, title, Level.WARN)


def rollback_failed(work: Work, why: object) -> None:
    """Loud, and never tried again by itself."""
    upgrade = work.upgrade
    title = f"The upgrade to {upgrade.to_version} failed and could not be rolled back"
    snapshot = f"{upgrade.snapshot_id} has" if upgrade.snapshot_id else "Its snapshots have"
    todo = f"Look at its log. {snapshot} its workspace from before: restore that, or ask your "
    message = _fitting(f"{upgrade.message} Rolling back failed: {why}", f"{todo}operator.")
    _failed(work, Outcome.ROLLBACK_FAILED, "rollback_failed", message, title, Level.BAD)


def not_run(work: Work, reason: str, message: str) -> None:
    """Nothing was switched; what an earlier upgrade said still stands."""
    with suppress(WorkspaceTrouble):  # then it stays, among the others
        keeping.forget(work)
    with transaction.atomic():
        work.claim.fail(reason, message, step="", outcome=Outcome.NOT_RUN)
        title = f"The upgrade to {work.upgrade.to_version} was not begun"
        tell(work.upgrade.agent, "upgrade.not_run", title, detail=message, level=Level.WARN)


def unjudged(work: Work, message: str) -> None:
    """People's later wish goes before; the new image stays."""
    with transaction.atomic():
        ended = {"reason": "changed_meanwhile", "message": message[:500]}
        work.claim.finish(step="", outcome=Outcome.UNJUDGED, **ended)
        title = f"The upgrade to {work.upgrade.to_version} was not judged"
        tell(work.upgrade.agent, "upgrade.unjudged", title, detail=message, level=Level.WARN)
        keeping.ship(work)


def not_judged(work: Work, reason: str, what: str) -> None:
    """Nobody could say how the new version does; it stays, and people are told to look."""
    upgrade = work.upgrade
    files = f" and restore {upgrade.snapshot_id}" if upgrade.snapshot_id else ""
    todo = (
        f"The agent stays on {upgrade.to_version}: look whether it does well. If not, go back to "
        f"release {upgrade.release_before}{files}."
    )
    message = _fitting(what, todo)
    with transaction.atomic():
        work.claim.fail(reason, message, step="", outcome=Outcome.UNJUDGED)
        set_condition(upgrade.agent, UPGRADE, status=False, reason=reason, message=message)
        title = f"The upgrade to {upgrade.to_version} was not judged"
        tell(upgrade.agent, "upgrade.unjudged", title, detail=message, level=Level.WARN)
        keeping.ship(work)


def given_up(claim: Claim, backend: Backend, why: GivenUp) -> None:
    """Its workers died too often, or it took too long. Raises ClaimLost."""
    work = work_on(claim, backend)
    if work is None:
        end_plainly(claim, why)
        return
    keeping.forget_compared(work)
    if work.upgrade.release_made is None:
        not_run(work, why.reason, f"{why.what} The agent was left as it is. {why.todo}")
    elif work.upgrade.reason:  # it was to go back
        rollback_failed(work, why.what)
    else:
        not_judged(work, why.reason, why.what)


def _failed(
    work: Work, outcome: Outcome, reason: str, message: str, title: str, level: Level
) -> None:
    with transaction.atomic():
        work.claim.fail(reason, message, step="", outcome=outcome)
        agent = work.upgrade.agent
        set_condition(agent, UPGRADE, status=False, reason=reason, message=message)
        tell(agent, f"upgrade.{outcome}", title, detail=message, level=level)
        _halt_if_too_many(work.upgrade, message)
        keeping.ship(work)


def _halt_if_too_many(upgrade: Upgrade, message: str) -> None:
    """Counted one at a time, or two that fail at once would each miss the other."""
    image = upgrade.to_image
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [f"roost.halt.{image}"])
    if failures_in_a_row(image) < TOO_MANY or halt_of(image) is not None:
        return
    told = {"runtime": upgrade.agent.runtime, "version": upgrade.to_version}
    fresh = {"since": now(), "reason": message[:500], "lifted_at": None, "lifted_by": ""}
    Halt.objects.update_or_create(image=image, defaults=told | fresh)
    record(SYSTEM, "upgrades.halted", image, label=f"{told['runtime']} {told['version']}")


def _fitting(why: str, todo: str) -> str:
    """What to do is said even where the reason is long."""
    room = 500 - len(todo) - 1
    return f"{why if len(why) <= room else why[: room - 1] + '…'} {todo}"
