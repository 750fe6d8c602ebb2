"""Writing an agent's timeline. Call inside the transaction of what it tells."""

from controlplane.agents.models import Agent, Event, Level


def tell(
    agent: Agent,
    kind: str,
    title: str,
    *,
    detail: str = "",
    level: Level = Level.INFO,
    actor: str = "",
) -> None:
    """Text is cut to what a line holds; nothing here may hold a secret."""
    Event.objects.create(
        agent=agent, kind=kind, level=level, title=title[:200], detail=detail[:1000], actor=actor
    )
