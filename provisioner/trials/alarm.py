"""An outcome is told where the agent is looked at: a condition, a line of its timeline; one that
failed also in the node's log, for operators.

The alarm holds for as long as the agent keeps a snapshot whose last trial failed.
"""

import logging

from django.conf import settings

from controlplane.agents.conditions import set_condition
from controlplane.agents.models import Agent, Condition, Level
from controlplane.agents.timeline import tell
from controlplane.trials.models import TrialRestore
from controlplane.trials.queries import spoiled_of

TRIAL = "TrialRestore"
log = logging.getLogger(__name__)


def ring(trial: TrialRestore, reason: str, message: str) -> None:
    """Call inside the transaction of the outcome."""
    agent = trial.agent
    set_condition(agent, TRIAL, status=False, reason=reason, message=message)
    title = f"The off-site snapshot {trial.snapshot_id} did not come back as it was"
    tell(agent, "trial.failed", title, detail=message, level=Level.BAD)
    log.error("%s of %s, snapshot %s: %s", trial.pk, agent.pk, trial.snapshot_id, message)


def all_clear(trial: TrialRestore, detail: str) -> None:
    """Call inside the transaction of the outcome."""
    if not spoiled_of(trial.agent).exists():
        _calm(trial.agent)
    title = f"The off-site snapshot {trial.snapshot_id} came back as it was"
    tell(trial.agent, "trial.passed", title, detail=detail, level=Level.OK)


def settle() -> int:
    """Of agents whose spoiled snapshots were deleted since; returns how many are calm again."""
    rows = Condition.objects.filter(type=TRIAL, status=False, agent__node=settings.ROOST_NODE)
    calm = [row.agent for row in rows.select_related("agent") if not spoiled_of(row.agent).exists()]
    for agent in calm:
        _calm(agent)
    return len(calm)


def _calm(agent: Agent) -> None:
    set_condition(agent, TRIAL, status=True, reason="as_it_was", message="")
