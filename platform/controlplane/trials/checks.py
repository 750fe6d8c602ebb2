"""The operator's plan is looked at when a process starts, not at the night it would have run."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from django.conf import settings
from django.core.checks import CheckMessage, Error


def check_plan(**_: Any) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    try:
        ZoneInfo(settings.ROOST_TRIAL_RESTORES_TIMEZONE)
    except (ZoneInfoNotFoundError, ValueError):
        found.append(
            Error(
                f"There is no time zone {settings.ROOST_TRIAL_RESTORES_TIMEZONE!r}.",
                hint="Write ROOST_TRIAL_RESTORES_TIMEZONE as Europe/Berlin.",
                id="trials.E001",
            )
        )
    try:
        if settings.ROOST_TRIAL_RESTORES:
            next(CronSim(settings.ROOST_TRIAL_RESTORES, datetime.now(UTC)))
    except (CronSimError, StopIteration):
        found.append(
            Error(
                f"{settings.ROOST_TRIAL_RESTORES!r} is no plan of trial restores.",
                hint="Write ROOST_TRIAL_RESTORES as minute, hour, day, month and weekday, such as "
                "15 1 * * 0 for Sundays at 01:15; empty for none.",
                id="trials.E002",
            )
        )
    return found
