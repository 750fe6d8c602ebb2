"""Letting a caller in: the ticket, the agent it names, and where that agent answers."""

from dataclasses import dataclass

from starlette.requests import Request

from controlplane.agents import tickets
from controlplane.agents.errors import AgentNotRunning
from controlplane.agents.lifecycle import Status
from controlplane.agents.models import Agent
from controlplane.agents.tickets import BadTicket, Ticket
from controlplane.database import from_async
from provisioner.backend import get_backend
from provisioner.look import target
from runtimes.adapter import (
    Adapter,
    ConversationNotFound,
    Endpoint,
    RuntimeProblem,
    RuntimeUnreachable,
    load_adapter,
)
from runtimes.catalog import CATALOG

TALKING = {Status.RUNNING, Status.DEGRADED}


class GatewayProblem(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


@dataclass(frozen=True)
class Caller:
    agent: Agent
    ticket: Ticket


async def let_in(request: Request, verb: str) -> Caller:
    """Raises GatewayProblem 403, 404."""
    agent_id = request.path_params["agent"]
    try:
        ticket = tickets.read(request.headers.get("X-Roost-Ticket", ""), agent_id, verb)
    except BadTicket as error:
        raise GatewayProblem(403, "bad_ticket", "This ticket does not let you in.") from error
    agent = await from_async(Agent.objects.filter(pk=agent_id).first)()
    if agent is None or agent.organisation_id != ticket.organisation:
        raise GatewayProblem(404, "not_found", "This agent does not exist.")
    return Caller(agent, ticket)


def endpoint_of(agent: Agent) -> tuple[Adapter, Endpoint]:
    """Raises GatewayProblem where nobody is there to answer."""
    found = target(get_backend(), agent)
    if agent.status not in TALKING or found is None:
        refusal = AgentNotRunning(agent.name, agent.status)
        raise GatewayProblem(409, refusal.code, str(refusal))
    return load_adapter(CATALOG[agent.runtime]), found.endpoint


def translated(agent: Agent, error: RuntimeProblem) -> GatewayProblem:
    """What an adapter met, in people's words."""
    match error:
        case ConversationNotFound():
            return GatewayProblem(404, "conversation_not_found", error.message)
        case RuntimeUnreachable():
            return GatewayProblem(
                502,
                "agent_unreachable",
                f"{agent.name} ended in the middle of this, or does not answer. What it had said "
                "is in its conversation; send again when it is back.",
            )
    return GatewayProblem(502, "agent_refused", f"{agent.name} could not do that: {error}")
