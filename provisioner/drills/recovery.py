"""Waiting until an agent is back: another life of its container, running, and it answers."""

import time
from datetime import datetime, timedelta

from django.utils.timezone import now

from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.models import Agent
from controlplane.drills.models import Drill, Hurt
from provisioner import names
from provisioner.backend import Backend
from provisioner.drills.errors import NotBack, NoVerdict
from provisioner.engines.base import EngineUnavailable
from provisioner.look import target
from runtimes.catalog import CATALOG

LOOK = 0.05  # seconds
MARGIN_S = 30  # beyond the runtime's own deadline: noticing, a place among those that boot


def until_back(backend: Backend, drill: Drill) -> datetime:
    """When it ran and answered. Raises NotBack; NoVerdict where people want something else."""
    assert drill.killed_at is not None  # noqa: S101  it was ended before
    patience = CATALOG[drill.agent.runtime].start_deadline_s + MARGIN_S
    ends = drill.killed_at + timedelta(seconds=patience)
    while True:
        agent = Agent.objects.get(pk=drill.agent_id)
        if agent.goal != Goal.RUNNING:
            said = f"{agent.name} was to be {agent.goal} before it was back, as people asked."
            raise NoVerdict("changed_meanwhile", said)
        if _is_back(backend, drill, agent):
            return now()
        if now() > ends:
            raise NotBack(patience, agent.message)
        time.sleep(LOOK)


def same_life(backend: Backend, drill: Drill) -> bool:
    """Whether it lives on as if nothing had been done to it. Raises EngineUnavailable."""
    found = backend.engine.inspect(names.container(drill.agent_id))
    return found is not None and found.life == drill.life_before


def _is_back(backend: Backend, drill: Drill, agent: Agent) -> bool:
    if agent.status != Status.RUNNING:
        return False
    try:
        container = backend.engine.inspect(names.container(agent.pk))
    except EngineUnavailable:
        return False
    if container is None or container.state != "running" or agent.ready_life != container.life:
        return False
    # An engine may leave containers alone while it restarts.
    if container.life == drill.life_before and drill.kind != Hurt.ENGINE:
        return False
    found = target(backend, agent, container.address)
    return found is not None and backend.prober.wait(found, 0)
