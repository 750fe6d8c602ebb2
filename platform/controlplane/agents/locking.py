"""One agent's row, held: whoever changes what people want of it does it under this lock."""

from controlplane.agents.errors import AgentDeleted
from controlplane.agents.lifecycle import Goal
from controlplane.agents.models import Agent


def lock_agent(agent: Agent) -> Agent:
    """As it is now, until the end of the transaction. Raises AgentDeleted."""
    locked = Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
    if locked.goal == Goal.DELETED:
        raise AgentDeleted(locked.name)
    return locked
