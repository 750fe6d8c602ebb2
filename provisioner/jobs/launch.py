"""Jobs run in processes of their own: polite to agents, bounded in memory, killed without harm.

The nudge of the queue and the node's sweep both come here; the claim decides who of them is first.
"""

import logging
import os
import subprocess
import sys
import threading

from django.conf import settings
from django.db import connection
from django.db.models import Value

from controlplane.jobs.claim import TTL, Claim, ClaimLost, claim, give_up_hopeless, rows_of
from provisioner.backend import get_backend
from provisioner.jobs import doubtful, limits
from provisioner.jobs.kinds import KINDS, Kind
from provisioner.keepalive import kept_alive

log = logging.getLogger(__name__)

ORPHAN = 1.0  # seconds between two looks at who started us


def sweep() -> int:
    """Take up every job of this node that waits or whose process died; returns how many."""
    return sum(_sweep(KINDS[label]) for label in _waiting())


def _waiting() -> list[str]:
    """The kinds of which there is work; one question, however many kinds there are."""
    first, *others = [
        rows_of(kind.model)
        .on(settings.ROOST_NODE)
        .under_way()
        .order_by()
        .values_list(Value(kind.label), flat=True)
        for kind in KINDS.values()
    ]
    return sorted(first.union(*others))


def _sweep(kind: Kind) -> int:
    doubtful.give_up(kind.model)
    give_up_hopeless(
        kind.model,
        settings.ROOST_NODE,
        lambda claim, why: kind.give_up(claim, get_backend(), why),
    )
    begun = 0
    while (found := claim(kind.model, settings.ROOST_NODE)) is not None:
        start(found)
        begun += 1
    return begun


def nudge(label: str, job_id: str) -> None:
    doubtful.give_up(KINDS[label].model)
    found = claim(KINDS[label].model, settings.ROOST_NODE, job_id)
    if found is not None:
        start(found)


def start(found: Claim) -> subprocess.Popen[bytes]:
    """In another process; only ids are on its command line."""
    label = found.kind._meta.label_lower
    argv = [sys.executable, "-m", "django", "job", label, found.job_id, str(found.fence)]
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
    threading.Thread(target=process.wait, name=f"job {found.job_id}", daemon=True).start()
    return process


def main(found: Claim) -> None:
    """What that process does."""
    kind = KINDS[found.kind._meta.label_lower]
    limits.bound(kind.nice, kind.memory)
    threading.Thread(target=_follow, args=(os.getppid(),), daemon=True).start()
    try:
        work(kind, found)
    finally:
        found.release()
        connection.close()


def work(kind: Kind, found: Claim) -> None:
    """Whoever took it over meanwhile goes on; then nothing is written here."""
    try:
        with kept_alive(found, TTL, ClaimLost):
            kind.run(found, get_backend())
    except ClaimLost:
        log.warning("%s was taken over or given up", found.job_id)


def _follow(parent: int) -> None:
    """Who started us is gone: another takes the job up again when the claim runs out."""
    while os.getppid() == parent:
        threading.Event().wait(ORPHAN)
    os._exit(1)
