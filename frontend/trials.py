"""How trial restores look: an outcome each, and what is done now."""

from controlplane.jobs.models import JobStatus
from controlplane.trials.models import Outcome, TrialRestore
from frontend.looks import Look, look_of

# The words of provisioner.trials.run.
STEPS = {
    "": "Waiting for its node",
    "bringing": "Bringing it back",
    "comparing": "Comparing every file",
}
NOT_RUN = Look("warn", "degraded", "Not run")
UNDER_WAY = Look("busy", "starting", "Under way", spins=True)
OVER = {
    Outcome.EQUAL: Look("ok", "running", "As it was"),
    Outcome.DIFFERS: Look("bad", "failed", "Not as it was"),
    Outcome.NOT_RUN: NOT_RUN,
}


def trial_look(one: TrialRestore) -> Look:
    if one.status == JobStatus.PENDING:
        return look_of("pending")
    if one.status == JobStatus.RUNNING:
        return UNDER_WAY
    return OVER[Outcome(one.outcome)] if one.outcome else NOT_RUN
