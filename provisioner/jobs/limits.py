"""How much a job's process may take: polite to agents, and bounded in memory."""

import contextlib
import os
import resource
from collections.abc import Iterator


def bound(nice: int, memory: int) -> None:
    """`memory` in bytes of data. Soft, so that what is started for others can be given back what
    they had: see `unbounded`."""
    os.nice(nice)
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (memory, hard))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core would hold every value


@contextlib.contextmanager
def unbounded() -> Iterator[None]:
    """For a command whose children outlive the job: an engine that is started here would hand
    the job's limits to every container."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, min(nice, 0))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
        os.setpriority(os.PRIO_PROCESS, 0, nice)
