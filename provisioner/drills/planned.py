"""Drills by plan: a due one starts when its agent runs and rests; until then it waits."""

import logging
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils.timezone import now

from controlplane.drills.actions import SCHEDULE, add_drill
from controlplane.drills.models import DrillPlan
from controlplane.errors import Refusal
from provisioner.drills import resting
from provisioner.drills.errors import NoVerdict

log = logging.getLogger(__name__)
AT_ONCE = 20


def start_due() -> int:
    """Returns how many were started."""
    due = DrillPlan.objects.filter(next_at__lte=now(), agent__node=settings.ROOST_NODE)
    rows = due.order_by("next_at").values_list("pk", flat=True)
    return sum(_start(agent_id) for agent_id in list(rows[:AT_ONCE]))


def _start(agent_id: str) -> bool:
    try:
        resting.refuse_in_turn(resting.refuse_unfit(agent_id))
        with transaction.atomic():
            locked = DrillPlan.objects.select_for_update(of=("self",)).select_related("agent")
            plan = locked.filter(pk=agent_id, next_at__lte=now()).first()
            if plan is None:  # changed, or taken by another, meanwhile
                return False
            plan.next_at = now() + timedelta(days=plan.every_days)
            plan.save(update_fields=["next_at"])
            add_drill(plan.agent, plan.kind, SCHEDULE)
    except (NoVerdict, Refusal) as why:
        log.info("the drill of %s waits: %s", agent_id, why)
        return False
    return True
