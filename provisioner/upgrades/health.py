"""Waiting until an agent runs and answers with an image, or is said not to.

The passes over the agent judge it, with their deadlines and budget; this reads what they say. Only
what they may wait for without an end (a vault, a place among those that boot, a silent engine) is
bounded here. Settings that people change meanwhile keep the image, so they are waited for like the
rest.
"""

import time
from datetime import datetime, timedelta

from django.utils.timezone import now

from controlplane.agents.lifecycle import Goal, Status, spoken
from controlplane.agents.models import Agent
from controlplane.agents.releases import release_of
from controlplane.upgrades.moving import ChangedMeanwhile
from provisioner.look import MIGRATION_TIMES
from provisioner.outcomes import GRACE_BEFORE_START
from provisioner.upgrades.errors import NotGood, NotJudged
from runtimes.catalog import CATALOG

LOOK = 0.1  # seconds
STEADY_S = 5
MARGIN_S = 300  # for a place among those that boot, a vault that comes back
SILENT = timedelta(hours=1)  # an engine's; it is no fault of the version
GIVEN_UP = {Status.FAILED, Status.CRASH_LOOPING}


def until_running(agent_id: str, image: str, since: datetime) -> datetime:
    """When it ran and answered. Raises NotGood; NotJudged where its engine stays silent;
    ChangedMeanwhile where people want other things."""
    heard = since
    while True:
        agent = look(agent_id, image)
        if agent.status == Status.UNKNOWN:
            heard = now()
            if heard > since + SILENT:
                raise NotJudged(agent.reason or "engine_silent", agent.message)
        seen = agent.observed_generation == agent.generation
        if seen and _runs(agent):
            return now()
        if seen and agent.status in GIVEN_UP:
            said = agent.message or f"It is {spoken(agent.status)}."
            raise NotGood(agent.reason or agent.status, said)
        if now() > heard + longest(agent):
            said = f"It did not run and answer in time; it is {spoken(agent.status)}."
            raise NotGood("not_healthy", f"{said} {agent.message}".strip())
        time.sleep(LOOK)


def until_steady(agent_id: str, image: str) -> None:
    """Once it answered it must go on for a while: some end at the first thing that they do. Raises
    NotGood, NotJudged, ChangedMeanwhile."""
    since = ends = now()
    first = None
    while True:
        agent = look(agent_id, image)
        if first is not None and agent.generation != first.generation:
            first, since = None, now()  # a restart or a change that people asked for
        elif agent.status == Status.UNKNOWN:
            first = None  # an engine that restarts takes it along: no fault of the version
        if first is None:
            until_running(agent_id, image, since)
            first, ends = look(agent_id, image), now() + timedelta(seconds=STEADY_S)
            continue
        if not _runs(agent) or agent.ready_life != first.ready_life:
            raise NotGood("ended_again", f"It answered, and ended again soon. {agent.message}")
        if now() >= ends:
            return
        time.sleep(LOOK)


def look(agent_id: str, image: str) -> Agent:
    """As it is now. Raises ChangedMeanwhile."""
    agent = Agent.objects.select_related("release").get(pk=agent_id)
    if agent.goal != Goal.RUNNING:
        raise ChangedMeanwhile(f"{agent.name} was to be {agent.goal} before it was judged.")
    release = release_of(agent)
    if release.image != image:
        raise ChangedMeanwhile(f"Release {release.number} has another image.")
    return agent


def longest(agent: Agent) -> timedelta:
    deadline = CATALOG[agent.runtime].start_deadline_s * MIGRATION_TIMES
    return timedelta(seconds=deadline + GRACE_BEFORE_START + MARGIN_S)


def _runs(agent: Agent) -> bool:
    number = release_of(agent).number
    return agent.status == Status.RUNNING and agent.observed_release == number
