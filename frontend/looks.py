"""How a status looks: a shape, a word and a tone. Never a colour alone."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """`tone` is a css class is-…, `shape` a symbol s-… of icons.svg."""

    tone: str
    shape: str
    word: str
    spins: bool = False


UNKNOWN = Look("idle", "unknown", "Unknown")
LOOKS = {
    "pending": Look("busy", "starting", "Queued", spins=True),
    "starting": Look("busy", "starting", "Starting", spins=True),
    "running": Look("ok", "running", "Running"),
    "degraded": Look("warn", "degraded", "Degraded"),
    "waiting": Look("warn", "waiting", "Waiting"),
    "restarting": Look("busy", "starting", "Restarting", spins=True),
    "stopping": Look("busy", "starting", "Stopping", spins=True),
    "stopped": Look("idle", "stopped", "Stopped"),
    "suspended": Look("warn", "suspended", "Suspended"),
    "crash_looping": Look("bad", "failed", "Crash looping"),
    "failed": Look("bad", "failed", "Failed"),
    "deleting": Look("busy", "starting", "Deleting", spins=True),
    "deleted": Look("idle", "stopped", "Deleted"),
    "unknown": UNKNOWN,
}
HELD = Look("warn", "waiting", "Queued")  # its node does not report
LEVELS = {
    "ok": Look("ok", "running", "Well"),
    "info": Look("idle", "todo", "Note"),
    "warn": Look("warn", "degraded", "Warning"),
    "bad": Look("bad", "failed", "Failure"),
}

# Titles of controlplane.agents.queries.STATES, the questions a list is filtered by.
STATE_TITLES = {
    "need": "Needs a look",
    "busy": "Under way",
    "ok": "Running",
    "idle": "Stopped or unknown",
}


def look_of(status: str) -> Look:
    return LOOKS.get(status, UNKNOWN)
