"""A claim on one job for one worker, as agents.lease is on an agent: it expires and is fenced."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import F
from django.utils.timezone import now

from controlplane.jobs.models import Job, JobQuerySet, JobStatus

TTL = timedelta(seconds=30)


class ClaimLost(Exception):
    """Another worker has it, or it was given up: stop, and write nothing more."""


@dataclass(frozen=True)
class Claim:
    kind: type[Job]
    job_id: str
    fence: int

    def renew(self) -> None:
        self.write(lease_until=now() + TTL)

    def write(self, **columns: Any) -> None:
        """Raises ClaimLost."""
        if not self._mine().update(**columns):
            raise ClaimLost(self.job_id)

    def finish(self, **columns: Any) -> None:
        """It is done. Raises ClaimLost."""
        self._end(JobStatus.DONE, **columns)

    def fail(self, reason: str, message: str, **columns: Any) -> None:
        """It ends with a reason for machines and one for people. Raises ClaimLost."""
        self._end(JobStatus.FAILED, reason=reason, message=message[:500], **columns)

    def _end(self, status: JobStatus, **columns: Any) -> None:
        self.write(status=status, finished_at=now(), lease_until=None, **columns)

    def postpone(self, pause: timedelta, **columns: Any) -> None:
        """It is taken up anew after a while, and this attempt does not count: how often that may
        be is for the caller to bound. The claim is over. Raises ClaimLost."""
        self.write(
            status=JobStatus.PENDING,
            lease_until=now() + pause,
            deadline_at=None,
            attempts=F("attempts") - 1,
            fence=F("fence") + 1,
            **columns,
        )

    def release(self) -> None:
        """Let another worker begin at once; losing it meanwhile is no error."""
        self._mine().update(lease_until=None)

    def _mine(self) -> JobQuerySet[Job]:
        rows = rows_of(self.kind).under_way()
        return rows.filter(pk=self.job_id, fence=self.fence)


def rows_of(kind: type[Job]) -> JobQuerySet[Job]:
    rows = kind._default_manager.all()
    assert isinstance(rows, JobQuerySet)  # noqa: S101  every kind declares it
    return rows


def claim(kind: type[Job], node: str, job_id: str | None = None) -> Claim | None:
    """The oldest job of this kind on this node that nobody works on, or that very one; None where
    there is none, or where enough are under way."""
    moment = now()
    with transaction.atomic():
        _one_at_a_time(kind, node)
        mine = rows_of(kind).on(node)
        running = mine.filter(status=JobStatus.RUNNING, lease_until__gte=moment)
        if running.count() >= kind.AT_ONCE:
            return None
        free = mine.unclaimed(moment).filter(attempts__lt=kind.ATTEMPTS)
        if job_id is not None:
            free = free.filter(pk=job_id)
        found = free.order_by("created_at", "pk").values_list("pk", flat=True).first()
        if found is None:
            return None
        rows_of(kind).filter(pk=found).update(
            status=JobStatus.RUNNING,
            started_at=moment,
            deadline_at=moment + kind.LONGEST,
            lease_until=moment + TTL,
            attempts=F("attempts") + 1,
            fence=F("fence") + 1,
        )
        return Claim(kind, found, rows_of(kind).values_list("fence", flat=True).get(pk=found))


@dataclass(frozen=True)
class GivenUp:
    """Why nobody works on a job any more: a reason for programs, what happened, what to do."""

    reason: str
    what: str
    todo: str


End = Callable[[Claim, GivenUp], None]


def end_plainly(claim: Claim, why: GivenUp) -> None:
    claim.fail(why.reason, f"{why.what} {why.todo}")


def give_up_hopeless(kind: type[Job], node: str, end: End = end_plainly) -> int:
    """End those whose workers died too often and those past their deadline; returns how many.
    `end` writes how each ended, under a claim that shuts out whoever still works on it."""
    moment, mine = now(), rows_of(kind).on(node)
    again = f"Start a new {kind.CALLED}; if it ends again, ask your operator to look at"
    died = GivenUp(
        "worker_died",
        f"The process that worked on this {kind.CALLED} ended {kind.ATTEMPTS} times before it was "
        "done.",
        f"{again} the node's log.",
    )
    late = GivenUp(
        "took_too_long",
        f"It was given up after {kind.LONGEST.total_seconds() / 3600:.0f} hours.",
        f"{again} how busy the node's disk is.",
    )
    hopeless = mine.unclaimed(moment).filter(attempts__gte=kind.ATTEMPTS)
    ended = _end_each(kind, hopeless, died, end)
    return ended + _end_each(kind, mine.under_way().filter(deadline_at__lt=moment), late, end)


def _end_each(kind: type[Job], rows: JobQuerySet[Job], why: GivenUp, end: End) -> int:
    ended = 0
    for job_id, fence in list(rows.values_list("pk", "fence")):
        seen = rows_of(kind).under_way().filter(pk=job_id, fence=fence)
        if not seen.update(fence=fence + 1, lease_until=now() + TTL):
            continue  # it went on, or another ends it
        with suppress(ClaimLost):
            end(Claim(kind, job_id, fence + 1), why)
            ended += 1
    return ended


def _one_at_a_time(kind: type[Job], node: str) -> None:
    """Until the end of the transaction: two claimants must not both count the same few."""
    name = f"roost.jobs.{kind._meta.label_lower}.{node}"
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [name])
