"""Trial restores by plan: one of each organisation with something off-site, when its time comes."""

import logging

from django.conf import settings
from django.db import transaction
from django.utils.timezone import now

from controlplane.errors import Refusal
from controlplane.snapshots.models import Snapshot
from controlplane.tenants.models import Organisation
from controlplane.trials import plans
from controlplane.trials.actions import PLAN, add_trial
from controlplane.trials.models import TrialPlan

log = logging.getLogger(__name__)
AT_ONCE = 20


def plan_all() -> None:
    """Every organisation with an off-site snapshot on this node has its next time, found by the
    rule that holds now."""
    rule = plans.rule()
    if not rule:
        return
    shipped = Snapshot.objects.kept().on(settings.ROOST_NODE).exclude(verified_at=None)
    wanted = Organisation.objects.filter(pk__in=shipped.values("agent__organisation"))
    for organisation in wanted.exclude(trial_plan__rule=rule)[:AT_ONCE]:
        TrialPlan.objects.update_or_create(
            organisation=organisation,
            defaults={"rule": rule, "next_at": plans.next_after(organisation, now())},
        )


def start_due() -> int:
    """Returns how many were started. One whose time passed while nobody looked is run once."""
    if not plans.rule():
        return 0
    due = TrialPlan.objects.filter(next_at__lte=now()).order_by("next_at")
    return sum(_start(pk) for pk in list(due.values_list("pk", flat=True)[:AT_ONCE]))


def _start(organisation_id: str) -> bool:
    with transaction.atomic():
        locked = TrialPlan.objects.select_for_update(skip_locked=True, of=("self",))
        found = locked.filter(pk=organisation_id, next_at__lte=now())
        plan = found.select_related("organisation").first()
        if plan is None:  # another node was first
            return False
        plan.next_at = plans.next_after(plan.organisation, now())
        plan.save(update_fields=["next_at"])
        try:
            with transaction.atomic():
                add_trial(plan.organisation, PLAN)
        except Refusal as why:
            log.info("no trial restore of %s this time: %s", organisation_id, why)
            return False
    return True
