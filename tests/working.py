"""What workers do, for tests that have none: carry out a job, and make passes meanwhile."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connection

from controlplane.jobs.claim import claim
from controlplane.jobs.models import Job
from provisioner.backend import Backend
from provisioner.jobs.kinds import KINDS


def carried_out(job: Job, backend: Backend) -> Job:
    """Claimed as by a worker that finds it left by another, and done in this process."""
    type(job).objects.filter(pk=job.pk).update(lease_until=None)
    found = claim(type(job), job.agent.node, job.pk)
    assert found is not None, "somebody else has it, or it is over"
    KINDS[job._meta.label_lower].run(found, backend)
    job.refresh_from_db()
    return job


@contextmanager
def meanwhile(work: Callable[[], object], pause: float) -> Iterator[None]:
    """`work`, again and again beside the block, `pause` seconds apart."""
    done = threading.Event()

    def repeat() -> None:
        try:
            while not done.wait(pause):
                work()
        finally:
            connection.close()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
