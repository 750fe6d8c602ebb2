"""Agents and the keys and secrets they use: who uses one, and what a change means for each."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import QuerySet, Sum

from controlplane.agents.errors import ImpossibleSetting
from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.limits import lock
from controlplane.agents.models import Agent, Level
from controlplane.agents.timeline import tell
from controlplane.agents.wishes import wish
from controlplane.audit.record import record
from controlplane.errors import Invalid
from controlplane.keys import actions as keys
from controlplane.keys.actions import noun
from controlplane.keys.models import Key, Secret
from controlplane.keys.rules import MOST_SECRET_BYTES
from controlplane.tenants.access import Access

Thing = TypeVar("Thing", bound=Key | Secret)
NOW, NEXT_START = "now", "next_start"
LIVE, RESTARTING, AT_NEXT_START = "live", "restarting", "at_next_start"
FAILED, STOPPED = "failed", "stopped"
UNDER_WAY = {RESTARTING}


@dataclass(frozen=True)
class Result:
    """What a rotation came to for one agent."""

    agent: Agent
    version_live: int | None  # with which its process was started; None: not since it uses it
    version_wanted: int
    result: str
    message: str


def users_of(thing: Key | Secret) -> QuerySet[Agent]:
    """The agents whose current release uses it."""
    agents = Agent.objects.of(thing.organisation).select_related("release").order_by("name")
    if isinstance(thing, Key):
        return agents.filter(release__key=thing)
    return agents.filter(release__secrets=thing)


def rotate(access: Access, thing: Thing, *, apply: str = NOW, **value: Any) -> Thing:
    """A new value, and what `apply` says about the agents that run with the old one. `value` is
    what rotate_key or rotate_secret takes."""
    if apply not in {NOW, NEXT_START}:
        raise Invalid("apply", f"apply is '{NOW}' or '{NEXT_START}'.")
    change: Any = keys.rotate_key if isinstance(thing, Key) else keys.rotate_secret
    if isinstance(thing, Key) and "checked" not in value:
        # Its provider is asked before anything is locked.
        asked = {"provider": thing.provider, "base_url": thing.base_url}
        value["checked"] = keys.examine_key(access, value=value["value"], **asked)
    with transaction.atomic():
        organisation = lock(access.organisation)
        changed: Thing = change(access, thing, **value)
        _refuse_too_much(changed)
        if apply == NOW and not organisation.paused_reason:  # nothing of it starts while paused
            rotated(access, changed)
    return changed


def rotated(access: Access, thing: Key | Secret) -> list[Agent]:
    """Those that are to run start anew, with the value that counts now."""
    title = f"Its {noun(thing)} {thing.name} was rotated"
    restarted = []
    for agent in _locked_users(thing, [Goal.RUNNING]):
        agent.restart_serial += 1
        _wish(access, agent, "restarted", title, "It restarts to have the new value.", thing)
        restarted.append(agent)
    return restarted


def revoke(access: Access, thing: Key | Secret) -> list[Agent]:
    """Destroy the value and stop the agents that run with it; returns those."""
    with transaction.atomic():
        lock(access.organisation)
        gone = (keys.revoke_key if isinstance(thing, Key) else keys.revoke_secret)(access, thing)  # type: ignore[arg-type]
        return revoked(access, gone)


def revoked(access: Access, thing: Key | Secret) -> list[Agent]:
    """Nobody goes on with a value that was taken away."""
    title = f"Its {noun(thing)} {thing.name} was revoked"
    detail = f"It is stopped. Choose another {noun(thing)} in its settings, then start it."
    stopped = []
    for agent in _locked_users(thing, [Goal.RUNNING]):
        agent.goal = Goal.STOPPED
        _wish(access, agent, "stopped", title, detail, thing)
        stopped.append(agent)
    return stopped


def results(thing: Key | Secret, agents: Iterable[Agent] | None = None) -> list[Result]:
    found = users_of(thing) if agents is None else agents
    return [_result(thing, agent) for agent in found]


def _result(thing: Key | Secret, agent: Agent) -> Result:
    live = agent.key_versions.get(thing.pk)
    result, message = _judged(agent, live == thing.version)
    return Result(agent, live, thing.version, result, message)


def _judged(agent: Agent, started_with_it: bool) -> tuple[str, str]:
    """`key_versions` says what its last process was started with; only one that answers has it."""
    seen = agent.observed_generation == agent.generation
    if agent.goal != Goal.RUNNING:
        return STOPPED, "It does not run; it has the new value from its next start."
    match agent.status:
        case Status.FAILED | Status.CRASH_LOOPING if seen:
            return FAILED, agent.message or "It did not start again."
        case Status.RUNNING | Status.DEGRADED if seen and started_with_it:
            return LIVE, "It runs with the new value."
        case Status.RUNNING | Status.DEGRADED if seen:
            return AT_NEXT_START, "It runs with the value before, until its next start."
        case Status.WAITING if seen:
            return RESTARTING, agent.message
    return RESTARTING, "It is being restarted."


def _locked_users(thing: Key | Secret, goals: list[Goal]) -> list[Agent]:
    users = users_of(thing).filter(goal__in=goals).order_by("pk")
    return list(users.select_for_update(no_key=True, of=("self",)))


def _refuse_too_much(thing: Key | Secret) -> None:
    if isinstance(thing, Key):
        return
    whole = Agent.objects.filter(pk__in=users_of(thing).order_by().values("pk"))
    sums = whole.annotate(bytes=Sum("release__secrets__size")).filter(bytes__gt=MOST_SECRET_BYTES)
    if agent := sums.first():
        raise ImpossibleSetting(
            "value",
            f"With this value the secrets of {agent.name} have more than "
            f"{MOST_SECRET_BYTES // 1024} KiB in all. Give it fewer secrets first.",
        )


def _wish(
    access: Access, agent: Agent, verb: str, title: str, detail: str, thing: Key | Secret
) -> None:
    wish(agent, "goal", "restart_serial")
    level = Level.WARN if verb == "stopped" else Level.INFO
    tell(agent, verb, title, detail=detail, level=level, actor=access.actor.label)
    record(
        access.actor,
        f"agent.{verb}",
        agent.pk,
        organisation=agent.organisation_id,
        label=agent.name,
        data={"because": thing.pk, "version": thing.version},
    )
