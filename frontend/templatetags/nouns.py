"""How templates speak of agents, events, conditions and roles."""

from django import template
from django.utils.safestring import SafeString

from controlplane.agents.models import Agent, Event
from controlplane.agents.rules import default_size
from controlplane.agents.sizes import SIZES
from controlplane.tenants.access import Access
from controlplane.tenants.permissions import PERMISSIONS
from frontend.looks import HELD, Look, look_of
from frontend.silence import Silence, holding
from frontend.templatetags.roost import icon, level, shape
from frontend.verdicts import needs, status_of, verdict_of
from runtimes.catalog import CATALOG, Runtime

register = template.Library()


KIND_ICONS = {
    "created": "plus",
    "changed": "release",
    "renamed": "release",
    "started": "play",
    "stopped": "stop",
    "restarted": "restart",
    "deleted": "trash",
    "restored": "undo",
    "forked": "fork",
    "fork.made": "fork",
    "scan.asked": "shield",
    "snapshot.asked": "snapshot",
    "snapshot.taken": "snapshot",
    "restore.asked": "undo",
    "drill.asked": "drill",
    "upgrade.asked": "release",
    "upgrade.switched": "release",
    "step.workspace": "folder",
    "step.container": "node",
    "step.set_up": "tool",
    "status.starting": "play",
    "status.restarting": "restart",
    "status.stopping": "stop",
    "status.stopped": "stop",
}
CONDITIONS = {
    "Ready": "Answers",
    "WorkspaceMounted": "Workspace mounted",
    "KeysDelivered": "Keys delivered",
    "ImagePresent": "Image on the node",
    "EngineReachable": "Engine reachable",
    "Credentials": "No key on a disk",
    "Drill": "Survives a drill",
    "TrialRestore": "Off-site copies come back",
    "Upgrade": "Last upgrade kept",
    "DiskSpace": "Room on its disk",
    "RowIsCurrent": "What is written down is current",
}


@register.filter
def runtime_title(agent: Agent) -> str:
    runtime = CATALOG.get(agent.runtime)
    return runtime.title if runtime else agent.runtime


@register.filter
def has_web(agent: Agent) -> bool:
    runtime = CATALOG.get(agent.runtime)
    return runtime is not None and runtime.web is not None


@register.filter
def may(access: Access, permission: str) -> bool:
    return access.may(permission)


@register.filter
def shown_status(agent: Agent) -> str:
    return status_of(agent)


@register.filter
def todo(agent: Agent, may_write: bool) -> str:
    """The first button of its page, for a row that needs somebody."""
    buttons = verdict_of(agent, may_write).buttons
    return buttons[0].label if buttons and buttons[0].primary and needs(agent) else ""


@register.filter
def held_by(agent: Agent, silences: list[Silence]) -> Silence | None:
    return holding(agent, silences)


@register.filter
def look_while(agent: Agent, silence: Silence | None) -> Look:
    """How it looks while that silence, if any, holds it up."""
    return HELD if silence else look_of(status_of(agent))


@register.filter
def size_title(slug: str) -> str:
    return SIZES[slug].title if slug in SIZES else slug.capitalize()


@register.filter
def usual_size(runtime: Runtime) -> str:
    return default_size(runtime).slug


@register.simple_tag
def event_sign(event: Event) -> SafeString:
    """A shape where the event is good or bad, else an icon of what it is about."""
    if event.level != "info":
        return shape(level(event.level))
    return icon(KIND_ICONS.get(event.kind, "clock"))


@register.filter
def condition_title(kind: str) -> str:
    return CONDITIONS.get(kind, kind)


@register.filter
def reach(scopes: list[str]) -> str:
    """What a token may, in words."""
    if all(scope.endswith(":read") for scope in scopes):
        return "read"
    return "everything" if set(scopes) == set(PERMISSIONS) else ", ".join(scopes)
