"""Following the engine: what happens behind our back is noticed within a second.

A stream that ends is a disconnect, never a sign that all is quiet; after every reconnect,
and every so often, a full list is compared with what the database expects.
"""

import logging
import threading
import time

from django.conf import settings
from django.db import connection

from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.models import Agent
from provisioner import names, older
from provisioner.backend import Backend
from provisioner.crew import Crew
from provisioner.engines.base import EngineRefused, EngineUnavailable

log = logging.getLogger(__name__)

# Events after which an agent may not be what we wrote down.
TELLING = {"die", "oom", "start", "destroy", "pause", "unpause", "kill", "stop"}
RECONNECT = 1.0  # seconds


def follow(backend: Backend, crew: Crew, stop: threading.Event) -> None:
    """Until stopped. The last second is asked for again: an event twice does no harm."""
    mine = names.mine(settings.ROOST_INSTALLATION)
    since = int(time.time())
    while not stop.is_set():
        try:
            compare(backend, crew)
            connection.close()  # the stream may say nothing for hours
            for event in backend.engine.events(mine, since):
                if stop.is_set():
                    return
                since = event.at or since
                if event.action.split(":")[0] in TELLING and event.agent_id:
                    crew.nudge(event.agent_id, insist=True)
        except (EngineUnavailable, EngineRefused) as error:
            log.warning("engine away: %s", error)
            _nudge_running(crew)
        stop.wait(RECONNECT)


def compare(backend: Backend, crew: Crew) -> None:
    """One list against one query: nudges every agent that is not as it should be."""
    listed = backend.engine.containers(names.mine(settings.ROOST_INSTALLATION))
    older.count_on(listed)
    up = {container.agent_id for container in listed if container.state == "running"}
    alone = {container.agent_id for container in listed if not container.connected}
    for agent_id, goal, status in _expected():
        should = goal == Goal.RUNNING and status in {Status.RUNNING, Status.DEGRADED}
        lost = should and (agent_id not in up or agent_id in alone)
        stray = agent_id in up and status in {
            Status.STOPPED,
            Status.SUSPENDED,
            Status.FAILED,
            Status.CRASH_LOOPING,
            Status.DELETED,
        }
        if lost or stray:
            crew.nudge(agent_id, insist=True)


def _expected() -> list[tuple[str, str, str]]:
    rows = Agent.objects.on(settings.ROOST_NODE).values_list("pk", "goal", "status")
    return list(rows)


def _nudge_running(crew: Crew) -> None:
    """With the engine silent, each agent that runs is marked unknown by a pass of its own."""
    for agent_id, _, status in _expected():
        if status in {Status.RUNNING, Status.DEGRADED}:
            crew.nudge(agent_id)
