"""The words that describe an agent's life, and how long each may last.

`Goal` is what people asked for; only the control plane writes it.
`Status` is what was seen; only the provisioner writes it.
"""

from django.db.models import TextChoices


class Goal(TextChoices):
    RUNNING = "running"
    STOPPED = "stopped"
    SUSPENDED = "suspended"
    DELETED = "deleted"


class Status(TextChoices):
    PENDING = "pending"  # accepted, no worker has looked yet
    STARTING = "starting"  # on the way to running
    RUNNING = "running"  # up, and answering
    DEGRADED = "degraded"  # up, but not answering
    WAITING = "waiting"  # needs something outside (vault, image); goes on by itself
    RESTARTING = "restarting"  # came down, on the way up again
    STOPPING = "stopping"
    STOPPED = "stopped"
    SUSPENDED = "suspended"
    CRASH_LOOPING = "crash_looping"  # its restart budget is used up
    FAILED = "failed"
    DELETING = "deleting"
    DELETED = "deleted"  # kept for the grace period, then gone
    UNKNOWN = "unknown"  # the node's engine is silent; never "gone"


def spoken(status: str) -> str:
    """In a sentence for people."""
    return status.replace("_", " ")


# Seconds a transitional status may last. A start's deadline comes from the runtime instead; past
# it the agent is `failed` with the reason. What is not here ends by itself (waiting, unknown: when
# the thing they name is back; they hold no resources that could be freed) or is an end.
DEADLINES = {
    Status.PENDING: 600,
    Status.STARTING: 300,
    Status.RESTARTING: 300,
    Status.STOPPING: 180,
    Status.DELETING: 300,
}

# Nothing more to do until people want something else or the watch sees a change.
ENDS = {
    Goal.RUNNING: {Status.RUNNING, Status.CRASH_LOOPING, Status.FAILED},
    Goal.STOPPED: {Status.STOPPED, Status.FAILED},
    Goal.SUSPENDED: {Status.SUSPENDED, Status.FAILED},
    Goal.DELETED: {Status.DELETED, Status.FAILED},
}

# These hold memory and CPU on a node.
ON_NODE = {
    Status.STARTING,
    Status.RUNNING,
    Status.DEGRADED,
    Status.RESTARTING,
    Status.STOPPING,
    Status.UNKNOWN,
}
