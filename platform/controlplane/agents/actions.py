"""Everything people can do to an agent. API, dashboard, admin and commands call these.

Each is one transaction: the wish, the audit row and the line of the timeline stand or
fall together; the provisioner is woken once they are committed.
"""

from collections.abc import Sequence

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.timezone import now

from controlplane.agents.dispatch import request_reconcile
from controlplane.agents.errors import (
    AgentChanged,
    AgentNameTaken,
    AgentNotDeleted,
    GraceOver,
    UnknownKey,
    UnknownSecret,
)
from controlplane.agents.lifecycle import Goal
from controlplane.agents.limits import lock, refuse_over_limits, refuse_paused
from controlplane.agents.locking import lock_agent
from controlplane.agents.models import Agent, Cause, Egress, Isolation
from controlplane.agents.releases import differs, new_release, release_of
from controlplane.agents.rules import (
    check_name,
    check_settings,
    default_size,
    refuse_smaller_disk,
    runtime_of,
    size_named,
)
from controlplane.agents.sizes import DEFAULT_DISK_GIB, size_of
from controlplane.agents.timeline import tell
from controlplane.agents.wishes import wish
from controlplane.audit.actor import Actor
from controlplane.audit.record import record
from controlplane.keys.models import Key, Secret
from controlplane.tenants.access import Access
from controlplane.tenants.models import Organisation


def create_agent(
    access: Access,
    *,
    name: str,
    runtime: str,
    key: str | None = None,
    model: str = "",
    size: str = "",
    disk_gib: int = DEFAULT_DISK_GIB,
    egress: str | None = None,
    egress_hosts: Sequence[str] = (),
    isolation: str = Isolation.DEFAULT,
    background: bool = False,
    secrets: Sequence[str] = (),
    origin: str = "",
) -> Agent:
    """Accept a new agent. `key` is a key's id; without one it uses the local stand-in model. Reach
    defaults to what that takes: the internet for a provider, nothing for the stand-in. The size
    defaults to what the runtime needs. `secrets` are ids of the organisation's secrets; `origin`
    is the snapshot that a fork begins as: see controlplane.snapshots.forking."""
    access.require("agents:write")
    check_name(name)
    manifest = runtime_of(runtime)
    with transaction.atomic():
        organisation = lock(access.organisation)
        refuse_paused(organisation)
        spec = check_settings(
            manifest,
            key=find_key(organisation, key),
            model=model,
            size=size_named(size) if size else default_size(manifest),
            disk_gib=disk_gib,
            egress=egress or (Egress.OPEN if key else Egress.NONE),
            egress_hosts=egress_hosts,
            isolation=isolation,
            background=background,
            secrets=find_secrets(organisation, secrets),
        )
        refuse_over_limits(organisation, spec)
        try:
            with transaction.atomic():
                agent = Agent.objects.create(
                    organisation=organisation,
                    name=name,
                    runtime=runtime,
                    node=settings.ROOST_NODE,
                    origin=origin,
                    created_by=access.user,
                )
        except IntegrityError as error:
            raise AgentNameTaken(name) from error
        new_release(agent, spec, access.actor.label, cause=Cause.CREATED)
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
    disk_gib: int | None = None,
    egress: str | None = None,
    egress_hosts: Sequence[str] | None = None,
    isolation: str | None = None,
    background: bool | None = None,
    secrets: Sequence[str] | None = None,
) -> Agent:
    """Change what is given. A changed spec is the next release; a stopped agent stays stopped. A
    workspace can only grow."""
    access.require("agents:write")
    with transaction.atomic():
        organisation = lock(access.organisation)
        agent = lock_agent(agent)
        if if_match is not None and if_match not in {agent.etag, "*"}:
            raise AgentChanged
        current = release_of(agent)
        renamed = name is not None and name != agent.name
        if renamed:
            _rename(access.actor, agent, name or "")
        chosen = current.key if key is None else find_key(organisation, key)
        disk_gib = current.disk_gib if disk_gib is None else disk_gib
        refuse_smaller_disk(current.disk_gib, disk_gib)
        egress = egress or current.egress
        if egress_hosts is None:
            egress_hosts = current.egress_hosts if egress == Egress.LIST else []
        same_provider = chosen and current.key and chosen.provider == current.key.provider
        spec = check_settings(
            runtime_of(agent.runtime),
            key=chosen,
            model=model if model is not None else (current.model if same_provider else ""),
            size=size_named(size) if size else size_of(current.memory_mb, current.cpu_millis),
            disk_gib=disk_gib,
            egress=egress,
            egress_hosts=egress_hosts,
            isolation=isolation or current.isolation,
            background=current.background if background is None else background,
            secrets=(
                list(current.secrets.all())
                if secrets is None
                else find_secrets(organisation, secrets)
            ),
        )
        respecified = differs(current, spec)
        if respecified:
            refuse_over_limits(organisation, spec, replacing=current)
            new_release(agent, spec, access.actor.label)
            _note(access.actor, agent, "changed", f"Release {release_of(agent).number} was made")
        if renamed or respecified:
            wish(agent, "name", "release")
    return agent


def start_agent(access: Access, agent: Agent) -> Agent:
    """Also the way out of `failed` and `crash_looping`: it gets a new restart budget."""
    with transaction.atomic():
        refuse_paused(lock(access.organisation))
        return _set_goal(access, agent, Goal.RUNNING, "started", "Start was asked for")


def stop_agent(access: Access, agent: Agent) -> Agent:
    return _set_goal(access, agent, Goal.STOPPED, "stopped", "Stop was asked for")


def restart_agent(access: Access, agent: Agent) -> Agent:
    """Stop, then start with a new container and freshly read keys. Starts a stopped agent."""
    with transaction.atomic():
        refuse_paused(lock(access.organisation))
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
        organisation = lock(access.organisation)
        agent = Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
        if agent.goal != Goal.DELETED:
            raise AgentNotDeleted(agent.name)
        if agent.purge_at is not None and agent.purge_at <= now():
            raise GraceOver(agent.name)
        _refuse_taken(agent, agent.name)
        release = release_of(agent)
        refuse_over_limits(organisation, release)
        agent.goal, agent.deleted_at = Goal.STOPPED, None
        _note(access.actor, agent, "restored", "Brought back")
        wish(agent, "goal", "deleted_at")
    return agent


def find_key(organisation: Organisation, key_id: str | None) -> Key | None:
    if not key_id:
        return None
    key = Key.objects.of(organisation).live().filter(pk=key_id).first()
    if key is None:
        raise UnknownKey
    return key


def find_secrets(organisation: Organisation, ids: Sequence[str]) -> list[Secret]:
    found = Secret.objects.of(organisation).live().in_bulk(list(ids))
    if len(found) < len(set(ids)):
        raise UnknownSecret
    return list(found.values())


def _set_goal(access: Access, agent: Agent, goal: Goal, verb: str, title: str) -> Agent:
    access.require("agents:write")
    with transaction.atomic():
        agent = lock_agent(agent)
        agent.goal = goal
        _note(access.actor, agent, verb, title)
        wish(agent, "goal")
    return agent


def _note(by: Actor, agent: Agent, verb: str, title: str) -> None:
    tell(agent, verb, title, actor=by.label)
    record(
        by,
        f"agent.{verb}",
        agent.pk,
        organisation=agent.organisation_id,
        label=agent.name,
        data={"release": release_of(agent).number},
    )


def _rename(by: Actor, agent: Agent, name: str) -> None:
    check_name(name)
    _refuse_taken(agent, name)
    old, agent.name = agent.name, name
    _note(by, agent, "renamed", f"Renamed from {old} to {name}")


def _refuse_taken(agent: Agent, name: str) -> None:
    others = Agent.objects.filter(organisation=agent.organisation_id, name=name)
    if others.exclude(goal=Goal.DELETED).exclude(pk=agent.pk).exists():
        raise AgentNameTaken(name)
