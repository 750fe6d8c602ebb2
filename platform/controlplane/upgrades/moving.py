"""The two moves of an upgrade: to the new image, and back. The node's worker makes them."""

from controlplane.agents.lifecycle import Goal
from controlplane.agents.limits import lock, refuse_over_limits, refuse_paused
from controlplane.agents.models import Agent, Cause, Level, Release
from controlplane.agents.releases import (
    Pin,
    keep_disk,
    new_release,
    pin_of,
    release_of,
    settings_of,
)
from controlplane.agents.timeline import tell
from controlplane.agents.wishes import wish
from controlplane.audit.actor import SYSTEM
from controlplane.audit.record import record
from controlplane.jobs.dispatch import request_job
from controlplane.snapshots.models import Restore
from controlplane.upgrades.models import Upgrade
from controlplane.upgrades.usable import spec_of, why_back


class ChangedMeanwhile(Exception):
    """People want something else of it now; says what."""


def switch(upgrade: Upgrade) -> tuple[Release, Release]:
    """The agent wants the new image; returns the release before and the new one. Call inside the
    transaction that writes it on the upgrade. Raises ChangedMeanwhile, and the Refusals of a
    release that cannot be had."""
    organisation = lock(upgrade.agent.organisation)
    refuse_paused(organisation)
    agent = _locked(upgrade)
    current = release_of(agent)
    if current.image != upgrade.from_image:
        raise ChangedMeanwhile(f"{agent.name} runs another image by now.")
    pin = Pin(upgrade.to_image, upgrade.to_version)
    spec, cause = settings_of(current), Cause.UPGRADED
    why = f"Upgraded from {upgrade.from_version} to {upgrade.to_version}"
    if upgrade.back_to is not None:
        target = agent.releases.get(number=upgrade.back_to)
        spec, cause = spec_of(agent, target, current), Cause.ROLLED_BACK
        refuse_over_limits(organisation, spec, replacing=current)
        why = f"{why_back(target, spec)}, {upgrade.to_version}"
    made = new_release(agent, spec, upgrade.requested_by, cause=cause, why=why, pin=pin)
    tell(agent, "upgrade.switched", f"Release {made.number} was made", detail=why)
    wish(agent, "release")
    return current, made


def turn_back(upgrade: Upgrade, why: str) -> tuple[Release, Restore | None]:
    """The agent wants what it ran before, on its workspace from before: in one wish, so that the
    old image never meets what the new one made of the workspace. Call inside the transaction that
    writes it on the upgrade. Raises ChangedMeanwhile."""
    agent = _locked(upgrade)
    current = release_of(agent)
    if current.image != upgrade.to_image:
        raise ChangedMeanwhile(f"{agent.name} runs another image by now.")
    assert upgrade.release_before is not None  # noqa: S101  written with `release_made`
    before = agent.releases.get(number=upgrade.release_before)
    # Settings that people changed meanwhile stay: only the image goes back.
    theirs = before if current.number == upgrade.release_made else current
    made = new_release(
        agent,
        keep_disk(settings_of(theirs), current),
        SYSTEM.label,
        cause=Cause.ROLLED_BACK_BY_ITSELF,
        why=f"Rolled back by itself from {upgrade.to_version}: {why}",
        pin=pin_of(before),
    )
    restore = None
    changed = ["release"]
    if upgrade.snapshot is not None:
        restore = Restore.objects.create(
            agent=agent, snapshot=upgrade.snapshot, requested_by=SYSTEM.label
        )
        agent.disk_wanted = restore.pk
        changed.append("disk_wanted")
        request_job(restore)
    title = f"Going back from {upgrade.to_version} to {upgrade.from_version}"
    tell(agent, "upgrade.going_back", title, detail=why, level=Level.WARN)
    record(
        *(SYSTEM, "agent.rolled_back", agent.pk),
        organisation=agent.organisation_id,
        label=agent.name,
        data={"release": made.number, "to": before.number, "upgrade": upgrade.pk},
    )
    wish(agent, *changed)
    return made, restore


def _locked(upgrade: Upgrade) -> Agent:
    """Raises ChangedMeanwhile."""
    agent = Agent.objects.select_for_update(no_key=True).get(pk=upgrade.agent_id)
    if agent.goal == Goal.DELETED:
        raise ChangedMeanwhile(f"{agent.name} was deleted meanwhile.")
    return agent
