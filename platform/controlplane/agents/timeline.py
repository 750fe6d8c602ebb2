"""Writing an agent's timeline. Call inside the transaction of what it tells."""

from django.db.models import Window
from django.db.models.functions import RowNumber

from controlplane.agents.models import Agent, Event, Level

KEPT = 500  # lines of one agent


def forget_old() -> int:
    """Keep the newest lines of each agent; a flapping one would fill the table. Returns how many
    went."""
    newest = Window(RowNumber(), partition_by="agent", order_by="-id")
    old = Event.objects.annotate(place=newest).filter(place__gt=KEPT)
    deleted, _ = Event.objects.filter(id__in=list(old.values_list("id", flat=True))).delete()
    return deleted


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
