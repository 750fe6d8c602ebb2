"""An outcome is told where the agent is looked at: a condition, a line of its timeline."""

from controlplane.agents.conditions import set_condition
from controlplane.agents.models import Agent, Level
from controlplane.agents.timeline import tell

DRILL = "Drill"


def ring(agent: Agent, reason: str, message: str) -> None:
    """Call inside the transaction of the verdict."""
    set_condition(agent, DRILL, status=False, reason=reason, message=message)
    tell(agent, "drill.failed", "A recovery drill failed", detail=message, level=Level.BAD)


def all_clear(agent: Agent, detail: str) -> None:
    """Call inside the transaction of the verdict."""
    set_condition(agent, DRILL, status=True, reason="survived", message="")
    tell(agent, "drill.passed", "It survived a recovery drill", detail=detail, level=Level.OK)


def no_verdict(agent: Agent, message: str) -> None:
    """What an earlier drill said still stands."""
    title = "A recovery drill came to no verdict"
    tell(agent, "drill.not_run", title, detail=message, level=Level.WARN)
