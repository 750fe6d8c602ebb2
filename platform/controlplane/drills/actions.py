"""What people can do: start a drill, plan drills, stop planning them."""

from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils.timezone import now

from controlplane.agents.lifecycle import Status
from controlplane.agents.models import Agent
from controlplane.agents.timeline import tell
from controlplane.audit.record import record
from controlplane.drills.errors import DrillUnderWay, NothingToDrill
from controlplane.drills.models import Drill, DrillPlan, Hurt, Verdict
from controlplane.errors import Invalid
from controlplane.jobs.dispatch import request_job
from controlplane.jobs.exclusive import refuse_at_work
from controlplane.tenants.access import Access

KEPT = 100  # of one agent
LONGEST_DAYS = 90
USUAL = 7  # days
SCHEDULE = "the schedule"  # who asked for a planned one
BEGINS = {Status.RUNNING, Status.DEGRADED}
TITLES = {
    Hurt.PROCESS: "its main process is killed",
    Hurt.CONTAINER: "its container is removed",
    Hurt.REBOOT: "its node's reboot is played for it",
    Hurt.ENGINE: "the engine of its node is restarted",
}


def start_drill(access: Access, agent: Agent, *, kind: str, force: bool = False) -> Drill:
    """End this agent in that way and see whether all of it comes back. Raises Invalid,
    NothingToDrill, DrillUnderWay."""
    access.require("agents:write")
    with transaction.atomic():
        drill = add_drill(agent, kind, access.actor.label, force=force)
        _record(access, "agent.drilled", agent, drill=drill.pk, kind=kind)
    return drill


def add_drill(agent: Agent, kind: str, by: str, *, force: bool = False) -> Drill:
    """For people's wishes and for the schedule; call inside a transaction."""
    if kind not in Hurt.values:
        raise Invalid("kind", f"A drill is one of {', '.join(Hurt.values)}.")
    if agent.status not in BEGINS or agent.workspace_made_at is None:
        raise NothingToDrill(agent.name)
    agent = Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
    refuse_at_work(agent, but="drills")
    try:
        with transaction.atomic():
            drill = Drill.objects.create(agent=agent, kind=kind, force=force, requested_by=by)
    except IntegrityError as error:
        raise DrillUnderWay(agent.name) from error
    _forget_old(agent)
    title = f"A recovery drill was asked for: {TITLES[Hurt(kind)]}"
    tell(agent, "drill.asked", title, actor=by)
    request_job(drill)
    return drill


def change_plan(
    access: Access,
    agent: Agent,
    *,
    on: bool | None = None,
    kind: str | None = None,
    every_days: int | None = None,
) -> DrillPlan | None:
    """What is given; a kind or a number of days turns it on, unless `on` says otherwise. None where
    none are planned. Raises Invalid."""
    access.require("agents:write")
    plan = DrillPlan.objects.filter(agent=agent).first()
    given = kind is not None or every_days is not None
    if on is False:
        stop_planning_drills(access, agent)
        return None
    if not given and (plan is not None or not on):
        return plan
    return plan_drills(
        access,
        agent,
        kind=kind or (plan.kind if plan else Hurt.PROCESS),
        every_days=every_days if every_days is not None else plan.every_days if plan else USUAL,
    )


def plan_drills(access: Access, agent: Agent, *, kind: str, every_days: int) -> DrillPlan:
    """From now on by itself; the first in as many days. Raises Invalid."""
    access.require("agents:write")
    if kind not in Hurt.values:
        raise Invalid("kind", f"A drill is one of {', '.join(Hurt.values)}.")
    if not 1 <= every_days <= LONGEST_DAYS:
        raise Invalid("every_days", f"Choose from 1 to {LONGEST_DAYS} days.")
    with transaction.atomic():
        plan, _ = DrillPlan.objects.update_or_create(
            agent=agent,
            defaults={
                "kind": kind,
                "every_days": every_days,
                "next_at": now() + timedelta(days=every_days),
                "set_by": access.actor.label,
            },
        )
        _record(access, "agent.drills_planned", agent, kind=kind, every_days=every_days)
    return plan


def stop_planning_drills(access: Access, agent: Agent) -> None:
    """None planned counts as done."""
    access.require("agents:write")
    with transaction.atomic():
        gone, _ = DrillPlan.objects.filter(agent=agent).delete()
        if gone:
            _record(access, "agent.drills_unplanned", agent)


def _forget_old(agent: Agent) -> None:
    """The newest that failed stays: the alarm speaks of it."""
    rows = Drill.objects.filter(agent=agent).order_by("-created_at", "-pk")
    newest = list(rows.values_list("pk", flat=True)[:KEPT])
    telling = list(rows.filter(verdict=Verdict.FAILED).values_list("pk", flat=True)[:1])
    rows.exclude(pk__in=[*newest, *telling]).delete()


def _record(access: Access, what: str, agent: Agent, **data: str | int) -> None:
    record(
        access.actor,
        what,
        agent.pk,
        organisation=agent.organisation_id,
        label=agent.name,
        data=data,
    )
