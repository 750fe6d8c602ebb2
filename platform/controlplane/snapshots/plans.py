"""When snapshots are taken by themselves: cron expressions in a time zone, and what is kept.

Days on which clocks change are cronsim's work (as Debian's cron does it: a time that does not
exist runs right after, one that comes twice runs once).
"""

import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError
from django.db import transaction

from controlplane.agents.models import Agent
from controlplane.audit.record import record
from controlplane.errors import Invalid
from controlplane.snapshots.models import Origin, Snapshot, SnapshotPlan
from controlplane.tenants.access import Access

SOONEST = timedelta(hours=1)  # between two of one agent
MOST_KEPT = 100
KEPT = ("keep_last", "keep_daily", "keep_weekly")
FIELDS = {"on", "cron", "timezone", *KEPT}
PLATFORM_ORIGINS = (
    Origin.BEFORE_RESTORE,
    Origin.BEFORE_UPGRADE,
    Origin.BEFORE_DELETE,
    Origin.DRILL,
    Origin.EXPORT,
)
PLATFORM_DAYS = 7  # for which those that the platform took for itself are kept


def default_plan(agent: Agent) -> SnapshotPlan:
    """Daily in the small hours; each agent at a minute of its own, or a node would take all of them
    at once."""
    chosen = random.Random(agent.pk)  # noqa: S311  no secret
    cron = f"{chosen.randrange(60)} {chosen.randrange(2, 5)} * * *"
    return SnapshotPlan(agent=agent, cron=cron)


def plan_of(agent: Agent) -> SnapshotPlan:
    return SnapshotPlan.objects.filter(agent=agent).first() or default_plan(agent)


def change_plan(access: Access, agent: Agent, **changes: bool | int | str) -> SnapshotPlan:
    """`changes` are of FIELDS. Raises Invalid."""
    access.require("agents:write")
    with transaction.atomic():
        Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
        plan = plan_of(agent)
        for field in FIELDS & changes.keys():
            setattr(plan, field, changes[field])
        _check(plan)
        plan.next_at = None  # the node finds it
        plan.save()
        record(
            access.actor,
            "agent.snapshot_plan_changed",
            agent.pk,
            organisation=agent.organisation_id,
            label=agent.name,
            data={field: getattr(plan, field) for field in sorted(FIELDS)},
        )
    return plan


def next_after(plan: SnapshotPlan, moment: datetime) -> datetime:
    return next(_times(plan.cron, plan.timezone, moment)).astimezone(UTC)


def _times(cron: str, timezone: str, moment: datetime) -> Iterator[datetime]:
    return CronSim(cron, moment.astimezone(ZoneInfo(timezone)))


def _check(plan: SnapshotPlan) -> None:
    for field in KEPT:
        if not 0 <= getattr(plan, field) <= MOST_KEPT:
            raise Invalid(field, f"Between 0 and {MOST_KEPT} can be kept.")
    if not any(getattr(plan, field) for field in KEPT):
        raise Invalid("keep_last", "At least one must be kept, or each is gone as it is taken.")
    if plan.timezone not in available_timezones():
        message = f"There is no time zone {plan.timezone!r}; write it as Europe/Berlin."
        raise Invalid("timezone", message)
    try:
        times = _times(plan.cron, plan.timezone, datetime.now(UTC))
        found = [next(times) for _ in range(50)]
    except (CronSimError, StopIteration) as error:
        raise Invalid(
            "cron", "Write minute, hour, day, month and weekday, such as 30 2 * * * for 02:30."
        ) from error
    if any(later - sooner < SOONEST for sooner, later in pairwise(found)):
        raise Invalid("cron", "An hour must lie between two snapshots.")


def expired(plan: SnapshotPlan, rows: Iterable[Snapshot], moment: datetime) -> list[Snapshot]:
    """Of one agent's usable snapshots, those that are kept no longer. What people took by hand is
    theirs to delete; what the platform took for itself goes after PLATFORM_DAYS."""
    newest_first = sorted(rows, key=lambda row: row.created_at, reverse=True)
    scheduled = [row for row in newest_first if row.origin == Origin.SCHEDULED]
    kept = {row.pk for row in scheduled[: plan.keep_last]}
    zone = ZoneInfo(plan.timezone)
    for count, form in ((plan.keep_daily, "%Y-%m-%d"), (plan.keep_weekly, "%G-%V")):
        periods: dict[str, str] = {}
        for row in scheduled:
            periods.setdefault(row.created_at.astimezone(zone).strftime(form), row.pk)
        kept |= set(list(periods.values())[:count])
    gone = [row for row in scheduled if row.pk not in kept]
    old = moment - timedelta(days=PLATFORM_DAYS)
    return gone + [
        row for row in newest_first if row.origin in PLATFORM_ORIGINS and row.created_at < old
    ]
