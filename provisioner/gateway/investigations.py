"""Having an agent look into an alert, and reading what it found, where its runtime can."""

from typing import Any

import httpx
from starlette.requests import Request
from starlette.responses import Response

from provisioner.gateway.chat import answer, read, told
from provisioner.gateway.door import Caller, GatewayProblem, endpoint_of, let_in
from provisioner.gateway.streams import Lines
from runtimes.adapter import ConversationNotFound, Endpoint, Investigation, Investigator
from runtimes.catalog import CATALOG

MOST_ID = 200  # characters


async def investigations(request: Request) -> Response:
    caller = await let_in(request, "history")
    adapter, endpoint = _investigator(caller)
    rows = await read(caller, lambda http: adapter.investigations(http, endpoint))
    return await answer({"investigations": rows})


async def investigation(request: Request) -> Response:
    caller = await let_in(request, "history")
    adapter, endpoint = _investigator(caller)
    wanted = request.path_params["investigation"][:MOST_ID]

    async def ask(http: httpx.AsyncClient) -> Investigation:
        try:
            return await adapter.investigation(http, endpoint, wanted)
        except ConversationNotFound as error:
            said = f"{caller.agent.name} has no investigation of this id. List them for its own."
            raise GatewayProblem(404, "investigation_not_found", said) from error

    return await answer({"investigation": await read(caller, ask)})


async def investigate(request: Request) -> Response:
    caller = await let_in(request, "chat")
    adapter, endpoint = _investigator(caller)  # refuses before the answer begins
    alert = await _asked(request)
    return Lines(told(caller, lambda http: adapter.investigate(http, endpoint, alert)))


def _investigator(caller: Caller) -> tuple[Investigator, Endpoint]:
    """Raises GatewayProblem where the runtime has no such thing, or nobody is there to answer."""
    runtime = CATALOG[caller.agent.runtime]
    if "investigate" not in runtime.capabilities:
        able = [one.title for one in CATALOG.values() if "investigate" in one.capabilities]
        said = f"{runtime.title} cannot investigate alerts. {' or '.join(able)} can."
        raise GatewayProblem(409, "cannot_investigate", said)
    adapter, endpoint = endpoint_of(caller.agent)
    assert isinstance(adapter, Investigator)  # noqa: S101  the conformance suite sees to it
    return adapter, endpoint


async def _asked(request: Request) -> dict[str, Any]:
    try:
        alert = (await request.json())["alert"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise GatewayProblem(400, "broken_body", "The body must be JSON with an alert.") from error
    if not isinstance(alert, dict) or not alert:
        raise GatewayProblem(400, "broken_body", "The alert must be an object that is not empty.")
    return alert
