"""Whether an agent may be ended now: it runs, it is what people want, and it is in no turn.

Turns that the gateway carries are known by its rows. What goes on in an agent's own web UI is not
seen, so an open one counts as a turn. What an agent does by its own schedule is not known at all.
"""

from django.utils.timezone import now

from controlplane.agents.lifecycle import Goal, Status, spoken
from controlplane.agents.models import Agent
from provisioner.drills.errors import NoVerdict
from provisioner.models import Turn

AGAIN = "The agent was left alone. Start the drill again later, or say that it may end it."


def turns_of(agent_id: str) -> list[Turn]:
    return list(Turn.objects.filter(agent_id=agent_id, until__gt=now()))


def refuse_unfit(agent_id: str) -> Agent:
    """The agent as it is. Raises NoVerdict."""
    agent = Agent.objects.get(pk=agent_id)
    if agent.goal != Goal.RUNNING or not agent.settled or agent.status != Status.RUNNING:
        raise NoVerdict(
            "not_running",
            f"{agent.name} is {spoken(agent.status)}: only one that runs and answers can be "
            "drilled. Wait until it does, then start the drill again.",
        )
    return agent


def refuse_in_turn(agent: Agent) -> None:
    """Raises NoVerdict."""
    why = why_not_now(agent, "a drill")
    if why is not None:
        reason, said = why
        raise NoVerdict(reason, f"{said} {AGAIN}")


def why_not_now(agent: Agent, what: str) -> tuple[str, str] | None:
    """A reason for programs and a sentence for people, where `what` would break off a turn."""
    found = turns_of(agent.pk)
    if any(not turn.web for turn in found):
        said = f"{agent.name} is in the middle of a turn, which {what} would break off."
        return "in_a_turn", said
    if found:
        said = f"Somebody has the web UI of {agent.name} open, where a turn cannot be seen."
        return "maybe_in_a_turn", said
    return None
