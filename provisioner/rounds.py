"""What a node does again and again: sweep, ask running agents how they are, say that it lives.

The cost of a sweep does not grow with settled agents: one query on a partial index.
"""

import logging
from collections import Counter
from datetime import timedelta

from django.conf import settings
from django.db.models import F
from django.utils.timezone import now

from controlplane.agents import disk, timeline
from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.models import Agent
from controlplane.api import idempotency
from provisioner import host, memory, pool, reach
from provisioner.backend import Backend, weaknesses
from provisioner.crew import Crew
from provisioner.engines.base import EngineUnavailable
from provisioner.look import target
from provisioner.models import Node

log = logging.getLogger(__name__)

AT_ONCE = 200
DEAF_AFTER = 3  # unanswered questions in a row


def sweep(crew: Crew) -> int:
    """Every agent that people changed, whose next look is due, or whose worker died."""
    moment = now()
    rows = Agent.objects.on(settings.ROOST_NODE).due(moment).unleased(moment)
    # Fresh wishes of settled agents have no due time: they go first, or a crowd of waiting agents
    # would keep a Stop from ever being seen.
    order = F("due_at").asc(nulls_first=True)
    due = list(rows.order_by(order).values_list("pk", flat=True)[:AT_ONCE])
    for agent_id in due:
        crew.nudge(agent_id)
    return len(due)


class Rounds:
    """Remembers who did not answer; `ask` nudges those whose state seems to have changed."""

    def __init__(self, backend: Backend, crew: Crew) -> None:
        self.backend = backend
        self.crew = crew
        self.unanswered: Counter[str] = Counter()

    def ask(self) -> None:
        rows = Agent.objects.on(settings.ROOST_NODE).filter(
            goal=Goal.RUNNING, status__in=[Status.RUNNING, Status.DEGRADED]
        )
        agents = {agent.pk: agent for agent in rows.only("pk", "runtime", "address", "status")}
        found = {agent.pk: target(self.backend, agent) for agent in agents.values()}
        answers = self.backend.prober.check([item for item in found.values() if item is not None])
        for agent_id, item in found.items():
            if item is None:  # its keys are gone from this node: bring them again
                self.crew.nudge(agent_id, insist=True)
        well = [agent_id for agent_id, answered in answers.items() if answered]
        for agent_id, answered in answers.items():
            self.unanswered[agent_id] = 0 if answered else self.unanswered[agent_id] + 1
            degraded = agents[agent_id].status == Status.DEGRADED
            if self.unanswered[agent_id] >= DEAF_AFTER or (answered and degraded):
                self.crew.nudge(agent_id, insist=True)
        self.unanswered = +self.unanswered  # forget zeros
        if well:
            # Not under a lease: it is nobody's decision, only a time.
            Agent.objects.filter(pk__in=well).update(seen_at=now())


def beat(backend: Backend) -> None:
    """The heartbeat row: pages tell by it that statuses are fresh."""
    row = Node.objects.filter(pk=settings.ROOST_NODE).first()
    try:
        engine, silent = backend.engine.ping(), None
    except EngineUnavailable:
        engine = row.engine if row else ""
        silent = (row.engine_silent_since if row else None) or now()
    Node.objects.update_or_create(
        name=settings.ROOST_NODE,
        defaults={
            "heartbeat_at": now(),
            "engine": engine,
            "engine_silent_since": silent,
            "weaknesses": [
                *(weaknesses(backend) + memory.weaknesses(row)),
                *(pool.weaknesses(row) + _guard_trouble(row)),
            ],
        },
    )


def _guard_trouble(row: Node | None) -> list[str]:
    """For a day, so that somebody who looks once a day sees it."""
    when = row.guard_restored_at if row else None
    if when is None or now() - when > timedelta(days=1):
        return []
    return [
        f"Its network guard was removed or changed by another program and put back at "
        f"{when:%Y-%m-%d %H:%M:%S} UTC. Find what reloads the firewall (`nft flush ruleset`, "
        "firewalld), or agents may reach this host for seconds again."
    ]


def note_offers(backend: Backend) -> None:
    """What this node's engine offers, for forms and for placing agents."""
    offered = list(backend.engine.isolations())
    Node.objects.filter(pk=settings.ROOST_NODE).update(isolations=offered)


def keep_house(backend: Backend) -> None:
    """Put back what somebody may have removed behind our back."""
    if backend.guarded:
        host.ensure_agents_share()
        host.ensure_service_address(settings.ROOST_SERVICE_ADDRESS)
        host.ensure_bridges_filtered()
        reach.refresh()


def forget_old() -> None:
    """Answers kept for retries, and the far end of timelines and of graphs."""
    idempotency.forget_old()
    timeline.forget_old()
    disk.forget_old()
