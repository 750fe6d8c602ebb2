"""A plan of snapshots in words, and a cron expression as people choose it."""

import re
from dataclasses import dataclass
from datetime import datetime, time
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim

from controlplane.snapshots.models import SnapshotPlan
from controlplane.snapshots.plans import next_after

DAILY, WEEKLY, CUSTOM = "daily", "weekly", "custom"
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
AT_A_TIME = re.compile(r"(\d{1,2}) (\d{1,2}) \* \* ([0-6*])", re.ASCII)
PLACES = re.compile(r"(?!Etc/|SystemV/|US/)[A-Z]\w+/.+|UTC")


@dataclass(frozen=True)
class Rhythm:
    """How often and when; `cron` says all where it is neither daily nor weekly."""

    kind: str
    at: time | None = None
    weekday: str = ""  # as cron counts: 0 is Sunday
    cron: str = ""


@dataclass(frozen=True)
class Schedule:
    """One sentence each."""

    on: bool
    when: str
    keeps: str
    next_at: datetime | None  # None while it is off
    next: str  # in the plan's own time zone, as the time in `when` is


def schedule_of(plan: SnapshotPlan, moment: datetime) -> Schedule:
    """The node writes the next time down on its rounds; until then it is worked out here."""
    upcoming = (plan.next_at or next_after(plan, moment)) if plan.on else None
    there = upcoming and upcoming.astimezone(ZoneInfo(plan.timezone))
    return Schedule(
        on=plan.on,
        when=f"{_times(plan.cron)} {plan.timezone}",
        keeps=_keeps(plan),
        next_at=upcoming,
        next=f"{there.day} {there:%b, %H:%M}" if there else "",
    )


def rhythm_of(cron: str) -> Rhythm:
    found = AT_A_TIME.fullmatch(cron)
    if found is None or int(found[1]) > 59 or int(found[2]) > 23:
        return Rhythm(CUSTOM, cron=cron)
    at = time(int(found[2]), int(found[1]))
    if found[3] == "*":
        return Rhythm(DAILY, at)
    return Rhythm(WEEKLY, at, found[3])


def cron_of(rhythm: Rhythm) -> str:
    if rhythm.kind == CUSTOM or rhythm.at is None:
        return rhythm.cron
    day = rhythm.weekday if rhythm.kind == WEEKLY else "*"
    return f"{rhythm.at.minute} {rhythm.at.hour} * * {day}"


def known_places() -> list[str]:
    """Time zones worth offering; every other name of the IANA database is taken too."""
    return sorted(name for name in available_timezones() if PLACES.fullmatch(name))


def _times(cron: str) -> str:
    rhythm = rhythm_of(cron)
    if rhythm.at is None:
        return str(CronSim(cron, datetime(2000, 1, 1)).explain()) + ","  # noqa: DTZ001  any
    if rhythm.kind == DAILY:
        return f"Daily at {rhythm.at:%H:%M}"
    return f"{WEEKDAYS[int(rhythm.weekday)]}s at {rhythm.at:%H:%M}"


def _keeps(plan: SnapshotPlan) -> str:
    parts = (
        (plan.keep_last, f"the last {plan.keep_last}"),
        (plan.keep_daily, f"{plan.keep_daily} daily"),
        (plan.keep_weekly, f"{plan.keep_weekly} weekly"),
    )
    return "keeps " + ", ".join(words for number, words in parts if number)
