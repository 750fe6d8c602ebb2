"""Everything people can do to an agent. API, dashboard, admin and commands call these.

Each is one transaction: the wish, the audit row and the line of the timeline stand or
fall together; the provisioner is woken once they are committed.
"""

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Sum
from django.utils.timezone import now

from controlplane.agents.dispatch import request_reconcile
from controlplane.agents.errors import (
    AgentChanged,
    AgentDeleted,
    AgentLimitReached,
    AgentNameTaken,
    AgentNotDeleted,
    DiskLimitReached,
    GraceOver,
    MemoryLimitReached,
    UnknownKey,
)
from controlplane.agents.lifecycle import Goal
from controlplane.agents.models import Agent, Release
from controlplane.agents.rules import Settings, check_name, check_settings, runtime_of, size_named
from controlplane.agents.sizes import DEFAULT_DISK_GIB, size_of
from controlplane.agents.timeline import tell
from controlplane.audit.actor import Actor
from controlplane.audit.record import record
from controlplane.keys.models import Key, Provider
from controlplane.tenants.access import Access
from controlplane.tenants.errors import OrganisationPaused
from controlplane.tenants.models import Organisation
from runtimes.references import image_of


def create_agent(
    access: Access,
    *,
    name: str,
    runtime: str,
    key: str | None = None,
    model: str = "",
    size: str = "small",
    disk_gib: int = DEFAULT_DISK_GIB,
    egress: str | None = None,
) -> Agent:
    """Accept a new agent. `key` is a key's id; without one it uses the local stand-in model. Reach
    defaults to what that takes: the internet for a provider, nothing for the stand-in."""
    access.require("agents:write")
    check_name(name)
    manifest = runtime_of(runtime)
    spec = check_settings(
        manifest,
        key=find_key(access.organisation, key),
        model=model,
        size=size_named(size),
        disk_gib=disk_gib,
        egress=egress or ("open" if key else "none"),
    )
    with transaction.atomic():
        organisation = _lock(access.organisation)
        _refuse_paused(organisation)
        _refuse_over_limits(organisation, spec)
        try:
            with transaction.atomic():
                agent = Agent.objects.create(
                    organisation=organisation,
                    name=name,
                    runtime=runtime,
                    node=settings.ROOST_NODE,
                    created_by=access.user,
                )
        except IntegrityError as error:
            raise AgentNameTaken(name) from error
        _new_release(agent, spec, access.actor)
        agent.save(update_fields=["release"])
        _note(access.actor, agent, "created", f"{agent.name} was created")
        request_reconcile(agent)
    return agent


def update_agent(
    access: Access,
    agent: Agent,
    *,
    if_match: str | None = None,
    name: str | None = None,
    key: str | None = None,
    model: str | None = None,
    size: str | None = None,
    egress: str | None = None,
) -> Agent:
    """Change what is given. A changed spec is the next release; a stopped agent stays stopped."""
    access.require("agents:write")
    with transaction.atomic():
        organisation = _lock(access.organisation)
        agent = _lock_agent(agent)
        if if_match is not None and if_match not in {agent.etag, "*"}:
            raise AgentChanged
        current = _release(agent)
        renamed = name is not None and name != agent.name
        if renamed:
            _rename(access.actor, agent, name or "")
        chosen = current.key if key is None else find_key(organisation, key)
        same_provider = chosen and current.key and chosen.provider == current.key.provider
        spec = check_settings(
            runtime_of(agent.runtime),
            key=chosen,
            model=model if model is not None else (current.model if same_provider else ""),
            size=size_named(size) if size else size_of(current.memory_mb, current.cpu_millis),
            disk_gib=current.disk_gib,
            egress=egress or current.egress,
        )
        respecified = _differs(current, spec)
        if respecified:
            _refuse_over_limits(organisation, spec, replacing=current)
            _new_release(agent, spec, access.actor)
            _note(access.actor, agent, "changed", f"Release {_release(agent).number} was made")
        if renamed or respecified:
            _wish(agent)
    return agent


def start_agent(access: Access, agent: Agent) -> Agent:
    """Also the way out of `failed` and `crash_looping`: it gets a new restart budget."""
    with transaction.atomic():
        _refuse_paused(_lock(access.organisation))
        return _set_goal(access, agent, Goal.RUNNING, "started", "Start was asked for")


def stop_agent(access: Access, agent: Agent) -> Agent:
    return _set_goal(access, agent, Goal.STOPPED, "stopped", "Stop was asked for")


def restart_agent(access: Access, agent: Agent) -> Agent:
    """Stop, then start with a new container and freshly read keys. Starts a stopped agent."""
    with transaction.atomic():
        _refuse_paused(_lock(access.organisation))
        agent = _set_goal(access, agent, Goal.RUNNING, "restarted", "Restart was asked for")
        agent.restart_serial += 1
        agent.save(update_fields=["restart_serial"])
    return agent


def delete_agent(access: Access, agent: Agent) -> Agent:
    """Always legal and at once: frees the name and the limits. The workspace outlives it by the
    grace period (ROOST_DELETE_GRACE_SECONDS)."""
    with transaction.atomic():
        agent = _set_goal(access, agent, Goal.DELETED, "deleted", "Delete was asked for")
        agent.deleted_at = now()
        agent.save(update_fields=["deleted_at"])
    return agent


def restore_agent(access: Access, agent: Agent) -> Agent:
    """Bring back a deleted agent within its grace period, stopped, with its workspace."""
    access.require("agents:write")
    with transaction.atomic():
        organisation = _lock(access.organisation)
        agent = Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
        if agent.goal != Goal.DELETED:
            raise AgentNotDeleted(agent.name)
        if agent.purge_at is not None and agent.purge_at <= now():
            raise GraceOver(agent.name)
        _refuse_taken(agent, agent.name)
        release = _release(agent)
        _refuse_over_limits(organisation, release)
        agent.goal, agent.deleted_at = Goal.STOPPED, None
        agent.save(update_fields=["goal", "deleted_at"])
        _note(access.actor, agent, "restored", "Brought back")
        _wish(agent)
    return agent


def find_key(organisation: Organisation, key_id: str | None) -> Key | None:
    if not key_id:
        return None
    key = Key.objects.of(organisation).live().filter(pk=key_id).first()
    if key is None:
        raise UnknownKey
    return key


def _set_goal(access: Access, agent: Agent, goal: Goal, verb: str, title: str) -> Agent:
    access.require("agents:write")
    with transaction.atomic():
        agent = _lock_agent(agent)
        agent.goal = goal
        agent.save(update_fields=["goal"])
        _note(access.actor, agent, verb, title)
        _wish(agent)
    return agent


def _wish(agent: Agent) -> None:
    """Something people want has changed: count it, and wake the provisioner."""
    agent.generation += 1
    agent.save(update_fields=["generation", "name", "release"])
    request_reconcile(agent)


def _note(by: Actor, agent: Agent, verb: str, title: str) -> None:
    tell(agent, verb, title, actor=by.label)
    record(
        by,
        f"agent.{verb}",
        agent.pk,
        organisation=agent.organisation_id,
        label=agent.name,
        data={"release": _release(agent).number},
    )


def _lock(organisation: Organisation) -> Organisation:
    """Two requests cannot both take the last slot: limits are counted under this lock."""
    return Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)


def _lock_agent(agent: Agent) -> Agent:
    locked = Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
    if locked.goal == Goal.DELETED:
        raise AgentDeleted(locked.name)
    return locked


def _release(agent: Agent) -> Release:
    assert agent.release is not None  # noqa: S101  set in the transaction that made the agent
    return agent.release


def _refuse_paused(organisation: Organisation) -> None:
    if organisation.paused_reason:
        raise OrganisationPaused(organisation.name, organisation.paused_reason)


def _refuse_over_limits(
    organisation: Organisation, spec: Settings | Release, replacing: Release | None = None
) -> None:
    agents = Agent.objects.of(organisation)
    if replacing is None and agents.count() >= organisation.agent_limit:
        raise AgentLimitReached(organisation.agent_limit)
    others = agents.exclude(release=replacing) if replacing else agents
    used = others.aggregate(memory=Sum("release__memory_mb"), disk=Sum("release__disk_gib"))
    memory, disk = used["memory"] or 0, used["disk"] or 0
    if memory + spec.memory_mb > organisation.memory_mb_limit:
        raise MemoryLimitReached(organisation.memory_mb_limit, memory, spec.memory_mb)
    if disk + spec.disk_gib > organisation.disk_gib_limit:
        raise DiskLimitReached(organisation.disk_gib_limit, disk, spec.disk_gib)


def _rename(by: Actor, agent: Agent, name: str) -> None:
    check_name(name)
    _refuse_taken(agent, name)
    old, agent.name = agent.name, name
    _note(by, agent, "renamed", f"Renamed from {old} to {name}")


def _refuse_taken(agent: Agent, name: str) -> None:
    others = Agent.objects.filter(organisation=agent.organisation_id, name=name)
    if others.exclude(goal=Goal.DELETED).exclude(pk=agent.pk).exists():
        raise AgentNameTaken(name)


def _differs(release: Release, spec: Settings) -> bool:
    return any(
        getattr(release, field) != getattr(spec, field)
        for field in ("key", "model", "memory_mb", "cpu_millis", "egress")
    )


def _new_release(agent: Agent, spec: Settings, by: Actor) -> None:
    runtime = runtime_of(agent.runtime)
    agent.release = Release.objects.create(
        agent=agent,
        number=(agent.release.number if agent.release else 0) + 1,
        image=image_of(runtime),
        runtime_version=runtime.version,
        key=spec.key,
        provider=spec.key.provider if spec.key else Provider.CUSTOM,
        base_url=spec.key.base_url if spec.key else settings.ROOST_STANDIN_URL,
        model=spec.model,
        memory_mb=spec.memory_mb,
        cpu_millis=spec.cpu_millis,
        disk_gib=spec.disk_gib,
        egress=spec.egress,
        author_label=by.label,
    )
