"""Jobs that a restored database brings back.

The copy that it was restored from was taken while they waited or ran; their end is not in it. Done
a second time, a restore would overwrite what came since and keep nothing of it, for the snapshot
that it keeps is there from the first time.
"""

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.drills.models import Drill
from controlplane.jobs.claim import rows_of
from controlplane.jobs.models import Job, JobStatus
from controlplane.snapshots.models import Restore
from controlplane.upgrades.models import Upgrade
from provisioner import memory

# What they do to an agent cannot be told from what was done; others only add what is not there.
ACTING: tuple[type[Job], ...] = (Restore, Upgrade, Drill)


def give_up(kind: type[Job]) -> int:
    """End those that were asked for before the database went back; returns how many. Whoever works
    on one loses its claim."""
    if kind not in ACTING or (since := memory.older_since()) is None:
        return 0
    rows = rows_of(kind).on(settings.ROOST_NODE).under_way().filter(created_at__lt=since)
    with transaction.atomic():
        ids = list(rows.select_for_update(of=("self",)).values_list("pk", flat=True))
        rows_of(kind).filter(pk__in=ids).update(
            status=JobStatus.FAILED,
            reason="database_restored",
            message="The database was restored to a copy from before the end of this "
            f"{kind.CALLED}, so nobody knows how far it came. Look at the agent, then ask again if "
            "it is still wanted.",
            finished_at=now(),
            lease_until=None,
        )
        # The agent goes on with the disk that it has. No new wish: nobody asked for anything.
        stale = Agent.objects.filter(disk_wanted__in=ids).exclude(disk_put=F("disk_wanted"))
        stale.update(disk_wanted=F("disk_put"), due_at=now())
    return len(ids)
