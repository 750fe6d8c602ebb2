"""When trial restores are run by themselves: the operator's cron expression, in their time zone,
and for each organisation a while later of its own, or a store would feel all of them at once.

Days on which clocks change are cronsim's work, as for snapshots.
"""

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim
from django.conf import settings

from controlplane.tenants.models import Organisation

SPREAD = timedelta(hours=4)


def rule() -> str:
    """The setting, as it is kept beside what follows from it; "" where the operator wants none."""
    if not settings.ROOST_TRIAL_RESTORES:
        return ""
    return f"{settings.ROOST_TRIAL_RESTORES} {settings.ROOST_TRIAL_RESTORES_TIMEZONE}"


def next_after(organisation: Organisation, moment: datetime) -> datetime:
    """The organisation's next time after `moment`."""
    late = _late(organisation)
    zone = ZoneInfo(settings.ROOST_TRIAL_RESTORES_TIMEZONE)
    times = CronSim(settings.ROOST_TRIAL_RESTORES, (moment - late).astimezone(zone))
    return next(times).astimezone(UTC) + late


def _late(organisation: Organisation) -> timedelta:
    """Whole minutes, the same at every time."""
    chosen = random.Random(organisation.pk)  # noqa: S311  no secret
    return timedelta(minutes=chosen.randrange(int(SPREAD / timedelta(minutes=1))))
