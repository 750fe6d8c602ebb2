"""Reads that more than one caller needs. Each starts at the organisation."""

from django.db.models import Q, QuerySet

from controlplane.agents.lifecycle import Status
from controlplane.agents.models import Agent, Event
from controlplane.errors import NotFound
from controlplane.tenants.access import Access

# How a list groups statuses for people.
STATES = {
    "ok": [Status.RUNNING],
    "busy": [Status.PENDING, Status.STARTING, Status.RESTARTING, Status.STOPPING, Status.DELETING],
    "need": [Status.DEGRADED, Status.WAITING, Status.CRASH_LOOPING, Status.FAILED],
    "idle": [Status.STOPPED, Status.SUSPENDED, Status.UNKNOWN],
}


def agents_of(access: Access) -> QuerySet[Agent]:
    agents = Agent.objects.of(access.organisation).select_related("release", "release__key")
    return agents.prefetch_related("conditions")


def find_agents(
    access: Access, *, q: str = "", state: str = "", runtime: str = ""
) -> QuerySet[Agent]:
    """Newest first. Unknown filters match nothing rather than everything."""
    agents = agents_of(access).order_by("-created_at", "-id")
    if q:
        text = q.replace("\x00", "")
        agents = agents.filter(Q(name__icontains=text) | Q(message__icontains=text) | Q(pk=text))
    if state:
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


def events_of(agent: Agent) -> QuerySet[Event]:
    return agent.events.order_by("-id")
