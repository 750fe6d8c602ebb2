"""Whether somebody may still be at an agent's web UI, and the agent as it is now.

Asked for every request and every few seconds of a stream or socket, so answers are shared for a
moment: a right that is taken away ends within LOOK + FRESH seconds.
"""

import asyncio
import time

from controlplane.agents import tickets
from controlplane.agents.models import Agent
from controlplane.agents.tickets import Ticket
from controlplane.database import from_async
from provisioner.gateway.web.refusals import WebRefusal
from provisioner.gateway.web.sessions import Session

FRESH = LOOK = 2.0  # seconds
MOST = 1000  # answers that are remembered


class Rights:
    def __init__(self) -> None:
        self._known: dict[Ticket, tuple[float, asyncio.Task[Agent | None]]] = {}

    async def agent_of(self, session: Session) -> Agent:
        """Raises GatewayProblem 401, 403."""
        agent = await self._look(session.ticket) if session.ends > time.time() else None
        if agent is None:
            raise WebRefusal(
                403,
                "forbidden",
                "You may not open this any more",
                "Your role or membership changed, the agent was deleted, or twelve hours are "
                "over. Open it from the dashboard again; if it is not there, ask an owner of the "
                "organisation.",
            )
        return agent

    async def _look(self, ticket: Ticket) -> Agent | None:
        moment = time.monotonic()
        made, task = self._known.get(ticket, (0.0, None))
        if task is None or moment - made > FRESH:
            task = asyncio.create_task(_ask(ticket))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._forget(moment)
            self._known[ticket] = (moment, task)
        # One who leaves must not take the answer away from the others who wait for it.
        return await asyncio.shield(task)

    def _forget(self, moment: float) -> None:
        if len(self._known) > MOST:
            self._known = {k: v for k, v in self._known.items() if moment - v[0] <= FRESH}


async def _ask(ticket: Ticket) -> Agent | None:
    return await from_async(_agent_if_allowed)(ticket)


def _agent_if_allowed(ticket: Ticket) -> Agent | None:
    if not tickets.still_allowed(ticket):
        return None
    found = Agent.objects.select_related("organisation").filter(
        pk=ticket.agent, organisation=ticket.organisation
    )
    return found.first()
