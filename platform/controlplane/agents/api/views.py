"""Agents: create, list, get, patch, delete, and the verbs."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.agents import actions
from controlplane.agents.api import serializers as s
from controlplane.agents.models import Agent, Event
from controlplane.agents.queries import (
    DELETED,
    STATES,
    agents_of,
    events_of,
    find_agents,
    get_agent,
    get_any_agent,
)
from controlplane.api.pagination import PAGES, CursorPages
from controlplane.tenants.access import Access
from controlplane.tenants.api.views import OrganisationView

FILTERS = [
    OpenApiParameter("q", str, description="Part of a name or of a message."),
    OpenApiParameter("state", str, enum=[*STATES, DELETED]),
    OpenApiParameter("runtime", str),
]


class AgentView(OrganisationView):
    """A view of one agent: `self.agent()` finds it in the caller's organisation."""

    queryset: Any = Agent.objects.none()
    serializer_class: Any = s.AgentSerializer

    def agent(self) -> Agent:
        return get_agent(self.access, pk=self.kwargs["agt"])

    def shown(self, agent: Agent, status: int = 200) -> Response:
        return Response(s.AgentSerializer(agent).data, status, headers={"ETag": agent.etag})

    def answer(self, agent: Agent, status: int = 200) -> Response:
        fresh = agents_of(self.access).filter(pk=agent.pk).first() or agent
        return self.shown(fresh, status)


class Agents(AgentView):
    needs = {"GET": "agents:read", "POST": "agents:write"}
    query = (*PAGES, "q", "state", "runtime")

    @extend_schema(
        operation_id="agents_list", parameters=FILTERS, responses=s.AgentSerializer(many=True)
    )
    def get(self, request: Request, org: str) -> Response:
        wanted = {name: request.query_params.get(name, "") for name in ("q", "state", "runtime")}
        return self.page(find_agents(self.access, **wanted), s.AgentSerializer)

    @extend_schema(
        operation_id="agents_create", request=s.AgentCreate, responses={202: s.AgentSerializer}
    )
    def post(self, request: Request, org: str) -> Response:
        """Accept a new agent. It starts at once; watch `status`, or its events."""
        body = self.read(request, s.AgentCreate)
        return self.once(
            lambda: self.answer(actions.create_agent(self.access, **body), status.HTTP_202_ACCEPTED)
        )


class OneAgent(AgentView):
    needs = {"GET": "agents:read", "PATCH": "agents:write", "DELETE": "agents:write"}
    query = ()

    @extend_schema(operation_id="agents_get")
    def get(self, request: Request, org: str, agt: str) -> Response:
        return self.shown(self.agent())

    @extend_schema(operation_id="agents_patch", request=s.AgentPatch)
    def patch(self, request: Request, org: str, agt: str) -> Response:
        """Change what is given. Anything but the name makes a new release and restarts a running
        agent; a stopped one stays stopped."""
        body = self.read(request, s.AgentPatch)
        if_match = request.headers.get("If-Match")
        return self.answer(
            actions.update_agent(self.access, self.agent(), if_match=if_match, **body)
        )

    @extend_schema(operation_id="agents_delete", responses={202: s.AgentSerializer})
    def delete(self, request: Request, org: str, agt: str) -> Response:
        """Accepted at once, whatever it is doing. The workspace is kept for the grace period."""
        agent = actions.delete_agent(self.access, self.agent())
        return Response(s.AgentSerializer(agent).data, status.HTTP_202_ACCEPTED)


class AgentVerb(AgentView):
    needs = {"POST": "agents:write"}

    def act(self, request: Request, verb: Callable[[Access, Agent], Agent]) -> Response:
        self.read(request, s.Nothing)
        agent = self.agent()
        return self.once(lambda: self.answer(verb(self.access, agent), status.HTTP_202_ACCEPTED))


def verb_view(name: str, verb: Callable[[Access, Agent], Agent], text: str) -> Any:
    @extend_schema(
        operation_id=f"agents_{name}",
        description=text,
        request=s.Nothing,
        responses={202: s.AgentSerializer},
    )
    def post(self: AgentVerb, request: Request, org: str, agt: str) -> Response:
        return self.act(request, verb)

    return type(f"{name.title()}Agent", (AgentVerb,), {"post": post}).as_view()  # type: ignore[attr-defined]


class RestoreAgent(AgentVerb):
    @extend_schema(
        operation_id="agents_restore", request=s.Nothing, responses={202: s.AgentSerializer}
    )
    def post(self, request: Request, org: str, agt: str) -> Response:
        """Bring back a deleted agent within its grace period, stopped, with its workspace."""
        return self.act(request, actions.restore_agent)

    def agent(self) -> Agent:
        return get_any_agent(self.access, self.kwargs["agt"])


class EventPages(CursorPages):
    order = ("id",)


class Events(AgentView):
    needs = {"GET": "agents:read"}
    queryset = Event.objects.none()
    serializer_class = s.EventSerializer
    pagination_class = EventPages

    @extend_schema(operation_id="agents_events", responses=s.EventSerializer(many=True))
    def get(self, request: Request, org: str, agt: str) -> Response:
        """The timeline, newest first."""
        return self.page(events_of(self.agent()), s.EventSerializer)
