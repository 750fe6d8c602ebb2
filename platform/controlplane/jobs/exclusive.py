"""Kinds of work of which an agent has one at a time: each stops it or changes its disk."""

from controlplane.agents.models import Agent
from controlplane.errors import Refusal
from controlplane.jobs.models import Job

# By the names that an agent knows them by; the apps themselves lie above this one.
NAMES = ("restores", "drills", "upgrades")


class AgentAtWork(Refusal):
    code = "agent_at_work"

    def __init__(self, name: str, called: str) -> None:
        article = "An" if called[0] in "aeiou" else "A"
        super().__init__(
            f"{article} {called} of {name} is under way. Wait until that is done, then ask again."
        )


def refuse_at_work(agent: Agent, *, but: str = "") -> None:
    """Call under the agent's lock, or two may begin at once. Raises AgentAtWork."""
    for name in NAMES:
        found: Job | None = getattr(agent, name).under_way().first() if name != but else None
        if found is not None:
            raise AgentAtWork(agent.name, found.CALLED)
