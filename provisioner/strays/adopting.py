"""Making an agent again of a workspace that no row speaks of."""

from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.timezone import now

from controlplane.agents.dispatch import request_reconcile
from controlplane.agents.errors import AgentNameTaken
from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.models import Agent, Cause, Egress, Level
from controlplane.agents.releases import Pin, new_release
from controlplane.agents.rules import Settings, check_name, default_size
from controlplane.agents.sizes import DISK_GIB, SIZES, Size
from controlplane.agents.timeline import tell
from controlplane.audit.actor import Actor
from controlplane.audit.record import record
from controlplane.keys.models import Key
from controlplane.tenants.models import Organisation
from provisioner.strays.errors import NothingToAdopt, OwnerUnknown, RuntimeUnknown
from provisioner.strays.models import Kind, State, Stray
from runtimes.catalog import CATALOG, Runtime

WHY = "Adopted: made of what was found of it"
TODO = (
    "Its workspace is as it was. Look at its settings (key, model, reach, secrets), then start it."
)


def adopt(
    by: Actor, agent_id: str, *, organisation: str = "", name: str = "", runtime: str = ""
) -> Agent:
    """Stopped, closed to the internet, with its workspace as it is; the limits of its organisation
    do not keep it out. What a container that is still there tells of it is taken over.

    `organisation` is an id, and needed where no label tells; so is `runtime`. Raises
    NothingToAdopt, OwnerUnknown, RuntimeUnknown, AgentNameTaken, Invalid.
    """
    name = name or f"adopted-{agent_id[-6:]}"
    check_name(name)
    with transaction.atomic():
        strays = _lock(agent_id)
        owner = _owner(strays, organisation)
        spec = _spec(strays)
        agent = _agent(agent_id, owner, name, _runtime(spec, runtime).slug, spec)
        settled = _settings(owner, CATALOG[agent.runtime], spec)
        new_release(agent, settled, by.label, cause=Cause.CREATED, why=WHY, pin=_pin(spec))
        agent.save(update_fields=["release"])
        ended = {"state": State.ADOPTED, "ended_at": now()}
        Stray.objects.filter(pk__in=[one.pk for one in strays]).update(**ended)
        tell(agent, "adopted", "Adopted", detail=TODO, level=Level.WARN, actor=by.label)
        record(
            by,
            "agent.adopted",
            agent.pk,
            organisation=owner.pk,
            label=agent.name,
            data={"strays": [f"{one.kind} {one.name}" for one in strays]},
        )
        request_reconcile(agent)
    return agent


def _lock(agent_id: str) -> list[Stray]:
    """All of it that is there. Raises NothingToAdopt."""
    rows = Stray.objects.select_for_update().at(settings.ROOST_NODE).open()
    strays = list(rows.filter(agent=agent_id).order_by("kind", "pk"))
    has_disk = any(one.kind == Kind.DISK for one in strays)
    going = any(one.state == State.REMOVING for one in strays)
    if not has_disk or going or Agent.objects.filter(pk=agent_id).exists():
        raise NothingToAdopt(agent_id)
    return strays


def _owner(strays: list[Stray], chosen: str) -> Organisation:
    told = {one.organisation for one in strays if one.organisation}
    known = list(Organisation.objects.filter(pk__in=told))
    if len(known) > 1 or (known and chosen not in {"", known[0].pk}):
        raise OwnerUnknown(
            f"It is labelled as of {', '.join(sorted(told))}: what belongs to one that is known "
            "is given to no other. Leave the organisation out."
        )
    found = known[0] if known else Organisation.objects.filter(pk=chosen).first()
    if found is None:
        labelled = f" It is labelled as of {', '.join(sorted(told))}." * bool(told)
        raise OwnerUnknown(
            f"No organisation that is known has it.{labelled} Name the one that it belongs to, by "
            "its id (org_…)."
        )
    return found


def _spec(strays: list[Stray]) -> dict[str, Any]:
    """What each part tells; a container's before another's."""
    found: dict[str, Any] = {}
    for one in sorted(strays, key=lambda one: one.kind != Kind.CONTAINER):
        found = one.spec | found
    return found


def _runtime(spec: dict[str, Any], chosen: str) -> Runtime:
    repository = str(spec.get("image", "")).rpartition(":")[0].rpartition("/")[2]
    slug = repository if repository in CATALOG else chosen
    if slug not in CATALOG:
        raise RuntimeUnknown(CATALOG)
    return CATALOG[slug]


def _agent(
    agent_id: str, owner: Organisation, name: str, runtime: str, spec: dict[str, Any]
) -> Agent:
    try:
        with transaction.atomic():
            return Agent.objects.create(
                id=agent_id,
                organisation=owner,
                name=name,
                runtime=runtime,
                node=settings.ROOST_NODE,
                goal=Goal.STOPPED,
                status=Status.UNKNOWN,
                workspace_made_at=now(),  # so that it is never made blank
                restart_serial=int(spec.get("restart", 0)),
                observed_release=int(spec.get("release", 0)),  # the next one's number is above it
            )
    except IntegrityError as error:
        raise AgentNameTaken(name) from error


def _pin(spec: dict[str, Any]) -> Pin | None:
    """The image that it ran; None where nothing tells, for the newest."""
    image = str(spec.get("image", ""))
    version = image.rpartition(":")[2].rpartition("-")[0]
    return Pin(image, version) if version else None


def _settings(owner: Organisation, runtime: Runtime, spec: dict[str, Any]) -> Settings:
    told = spec.get("settings") or {}
    key = _key(owner, runtime, told)
    size = _size(runtime, int(spec.get("memory_mb", 0)))
    held = int(spec.get("disk_gib", 0))
    return Settings(
        key=key,
        model=str(told.get("model", "")),
        memory_mb=size.memory_mb,
        cpu_millis=size.cpu_millis,
        disk_gib=next((gib for gib in sorted(DISK_GIB) if gib >= held), max(DISK_GIB)),
        egress=Egress.NONE,  # until its people say what it may reach
        egress_hosts=[],
        isolation="default",
        background=bool(told.get("background", False)),
        secrets=[],
    )


def _key(owner: Organisation, runtime: Runtime, told: dict[str, Any]) -> Key | None:
    """The one key that it can have had; where there are several, its people choose."""
    provider = str(told.get("provider", ""))
    if provider not in runtime.providers:
        return None
    rows = Key.objects.of(owner).live().filter(provider=provider)
    found = list(rows.filter(base_url=str(told.get("base_url", ""))) or rows)
    return found[0] if len(found) == 1 else None


def _size(runtime: Runtime, memory_mb: int) -> Size:
    same = [size for size in SIZES.values() if size.memory_mb == memory_mb]
    return same[0] if same else default_size(runtime)
