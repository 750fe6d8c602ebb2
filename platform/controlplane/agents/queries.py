"""Reads that more than one caller needs. Each starts at the organisation."""

from django.db.models import Q, QuerySet
from django.utils.timezone import now

from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.models import Agent, Event, Release
from controlplane.errors import NotFound
from controlplane.tenants.access import Access

# How a list groups statuses for people.
STATES = {
    "ok": [Status.RUNNING],
    "busy": [Status.PENDING, Status.STARTING, Status.RESTARTING, Status.STOPPING, Status.DELETING],
    "need": [Status.DEGRADED, Status.WAITING, Status.CRASH_LOOPING, Status.FAILED],
    "idle": [Status.STOPPED, Status.SUSPENDED, Status.UNKNOWN],
}
DELETED = "deleted"  # a state of its own: these are in no other list


def agents_of(access: Access) -> QuerySet[Agent]:
    return _with_parts(Agent.objects.of(access.organisation))


def deleted_of(access: Access) -> QuerySet[Agent]:
    """Deleted agents that can be brought back, the last one first."""
    deleted = Agent.objects.filter(organisation=access.organisation, goal=Goal.DELETED)
    in_time = deleted.filter(Q(purge_at=None) | Q(purge_at__gt=now()))
    return _with_parts(in_time).order_by("-deleted_at", "-id")


def _with_parts(agents: QuerySet[Agent]) -> QuerySet[Agent]:
    agents = agents.select_related("release", "release__key")
    return agents.prefetch_related("conditions", "release__secrets")


def find_agents(
    access: Access, *, q: str = "", state: str = "", runtime: str = ""
) -> QuerySet[Agent]:
    """Newest first. Unknown filters match nothing rather than everything. Of the state `deleted`
    are those that can be brought back."""
    found = deleted_of(access) if state == DELETED else agents_of(access)
    agents = found.order_by("-created_at", "-id")
    if q:
        text = q.replace("\x00", "")
        agents = agents.filter(Q(name__icontains=text) | Q(message__icontains=text) | Q(pk=text))
    if state and state != DELETED:
        agents = agents.filter(status__in=STATES.get(state, []))
    if runtime:
        agents = agents.filter(runtime=runtime.replace("\x00", ""))
    return agents


def get_agent(access: Access, **lookup: str) -> Agent:
    """By `pk=` or `name=`. Raises NotFound, also for other organisations' agents."""
    agent = agents_of(access).filter(**lookup).first()
    if agent is None:
        raise NotFound("This agent")
    return agent


def get_any_agent(access: Access, pk: str) -> Agent:
    """The same, deleted ones too."""
    agent = Agent.objects.filter(organisation=access.organisation, pk=pk).first()
    if agent is None:
        raise NotFound("This agent")
    return agent


def releases_of(agent: Agent) -> QuerySet[Release]:
    """The newest first, with what a history tells of them."""
    rows = Release.objects.filter(agent=agent).select_related("key").prefetch_related("secrets")
    return rows.order_by("-number")


def get_release(agent: Agent, number: int) -> Release:
    """Raises NotFound."""
    found = releases_of(agent).filter(number=number).first()
    if found is None:
        raise NotFound("This release")
    return found


def events_of(agent: Agent) -> QuerySet[Event]:
    return agent.events.order_by("-id")
