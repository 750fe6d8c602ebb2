"""An agent's checkpoints, as they lie in its workspace: what they say of themselves, no value."""

import asyncio
import logging
from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from controlplane.agents.lifecycle import Status
from controlplane.agents.models import Agent
from provisioner.backend import get_backend
from provisioner.checkpoints import Listing, read_checkpoints
from provisioner.gateway.door import GatewayProblem, let_in
from provisioner.workspaces.base import WorkspaceTrouble

log = logging.getLogger(__name__)

DOWN = {Status.STOPPED, Status.FAILED, Status.CRASH_LOOPING}  # until somebody starts it


async def checkpoints(request: Request) -> Response:
    caller = await let_in(request, "checkpoints")
    found = await asyncio.to_thread(_read, caller.agent)
    return JSONResponse(asdict(found))


def _read(agent: Agent) -> Listing:
    """Raises GatewayProblem."""
    try:
        data = get_backend().workspaces.kept(agent.pk).data
        if data is not None:
            return read_checkpoints(data)
    except (OSError, WorkspaceTrouble) as error:
        log.warning("the workspace of %s cannot be read: %s", agent.pk, error)
        said = (
            f"The node cannot read the workspace of {agent.name} just now. The agent most likely "
            "goes on; the gateway's log says why."
        )
        raise GatewayProblem(503, "workspace_unreadable", said) from error
    todo = "start it to see them" if agent.status in DOWN else "they show when it is mounted again"
    raise GatewayProblem(
        409,
        "workspace_not_mounted",
        f"{agent.name} is {agent.status.replace('_', ' ')} and its workspace is not mounted. Its "
        f"checkpoints are kept on its disk; {todo}.",
    )
