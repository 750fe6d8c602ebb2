"""What people can do: upgrade an agent, take it back to a release, allow an image again."""

from django.db import IntegrityError, transaction
from django.utils.timezone import now

from controlplane.agents.lifecycle import Status
from controlplane.agents.limits import lock, refuse_over_limits, refuse_paused
from controlplane.agents.locking import lock_agent
from controlplane.agents.models import Agent, Cause, Release
from controlplane.agents.releases import Pin, differs, new_release, newest_pin, pin_of, release_of
from controlplane.agents.timeline import tell
from controlplane.agents.wishes import wish
from controlplane.audit.actor import Actor
from controlplane.audit.record import record
from controlplane.errors import Invalid, NotFound
from controlplane.jobs.dispatch import request_job
from controlplane.jobs.exclusive import refuse_at_work
from controlplane.tenants.access import Access
from controlplane.upgrades.errors import (
    FailedBefore,
    NothingToUpgrade,
    NotSettled,
    SameRelease,
    UpgradesHalted,
)
from controlplane.upgrades.models import FAILED, Halt, Upgrade
from controlplane.upgrades.queries import failure_of, halt_of
from controlplane.upgrades.usable import spec_of, why_back

KEPT = 100  # of one agent
# One that waits, for its image it may be, or is deaf, is not settled and can be helped by another.
BEGINS = {Status.WAITING, Status.DEGRADED}


def upgrade_agent(access: Access, agent: Agent, *, force: bool = False) -> Upgrade:
    """To the newest image of its runtime. `force`: also in the middle of a turn, and to an image
    that failed for it before. Raises the Refusals of controlplane.upgrades.errors."""
    access.require("agents:write")
    with transaction.atomic():
        refuse_paused(lock(access.organisation))
        agent = lock_agent(agent)
        newest, current = newest_pin(agent), release_of(agent)
        if newest.image == current.image:
            raise NothingToUpgrade(agent.name, current.runtime_version)
        return _add(access, agent, newest, force=force)


def roll_back(
    access: Access, agent: Agent, *, release: int, force: bool = False
) -> Release | Upgrade:
    """A new release with what that one says; an upgrade where that one has another image. The
    workspace stays as it is, and never gets smaller. Raises NotFound, and the Refusals of
    controlplane.upgrades.errors."""
    access.require("agents:write")
    with transaction.atomic():
        organisation = lock(access.organisation)
        agent = lock_agent(agent)
        current = release_of(agent)
        target = agent.releases.filter(number=release).first()
        if target is None:
            raise NotFound("This release")
        if target.number == current.number:
            raise SameRelease(release)
        spec = spec_of(agent, target, current)
        refuse_over_limits(organisation, spec, replacing=current)
        refuse_at_work(agent)
        if target.image != current.image:
            refuse_paused(organisation)
            return _add(access, agent, pin_of(target), back_to=release, force=force)
        if not differs(current, spec):
            raise SameRelease(release)
        by, why = access.actor.label, why_back(target, spec)
        made = new_release(agent, spec, by, cause=Cause.ROLLED_BACK, why=why)
        tell(agent, "changed", f"Release {made.number} was made", detail=why, actor=by)
        _record(access.actor, "agent.rolled_back", agent, release=made.number, to=release)
        wish(agent, "release")
    return made


def allow_again(by: Actor, halt: Halt) -> None:
    """An operator's word: agents may be moved to this image again. Twice equals once."""
    with transaction.atomic():
        locked = Halt.objects.select_for_update().get(pk=halt.pk)
        if locked.lifted_at is not None:
            return
        locked.lifted_at, locked.lifted_by = now(), by.label
        locked.save(update_fields=["lifted_at", "lifted_by"])
        record(by, "upgrades.allowed", locked.pk, label=f"{locked.runtime} {locked.version}")


def refuse_failed(agent: Agent, image: str, version: str, *, force: bool) -> None:
    """Raises UpgradesHalted, FailedBefore. Asked here and again by the node."""
    if (halt := halt_of(image)) is not None:
        raise UpgradesHalted(version, halt.since)
    failed = failure_of(agent, image)
    if failed is not None and not force:
        raise FailedBefore(version, failed.finished_at, failed.message)


def _add(
    access: Access, agent: Agent, to: Pin, *, force: bool, back_to: int | None = None
) -> Upgrade:
    if not agent.settled and agent.status not in BEGINS:
        raise NotSettled(agent.name, agent.status)
    refuse_at_work(agent)
    refuse_failed(agent, to.image, to.version, force=force)
    current, by = release_of(agent), access.actor.label
    try:
        with transaction.atomic():
            upgrade = Upgrade.objects.create(
                agent=agent,
                from_image=current.image,
                from_version=current.runtime_version,
                to_image=to.image,
                to_version=to.version,
                back_to=back_to,
                force=force,
                requested_by=by,
            )
    except IntegrityError as error:  # the lock and the look above make it impossible
        raise Invalid("agent", "An upgrade is under way.") from error
    _forget_old(agent)
    title = f"An upgrade from {current.runtime_version} to {to.version} was asked for"
    if back_to is not None:
        title = f"Going back to release {back_to}, {to.version}, was asked for"
    tell(agent, "upgrade.asked", title, actor=by)
    _record(
        *(access.actor, "agent.upgraded", agent),
        upgrade=upgrade.pk,
        before=current.image,
        after=to.image,
        force=force,
    )
    request_job(upgrade)
    return upgrade


def _forget_old(agent: Agent) -> None:
    """Those that failed stay: the next upgrade to their image asks for them."""
    rows = Upgrade.objects.filter(agent=agent).order_by("-created_at", "-pk")
    newest = list(rows.values_list("pk", flat=True)[:KEPT])
    rows.exclude(pk__in=newest).exclude(outcome__in=FAILED).delete()


def _record(by: Actor, what: str, agent: Agent, **data: str | int | bool) -> None:
    record(by, what, agent.pk, organisation=agent.organisation_id, label=agent.name, data=data)
