"""An agent's log: the newest lines, and following it."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator

from starlette.requests import Request
from starlette.responses import Response

from controlplane.agents import tickets
from controlplane.database import from_async
from provisioner import names
from provisioner.backend import get_backend
from provisioner.engines.base import Engine, EngineRefused, EngineUnavailable, LogLine
from provisioner.engines.docker_logs import engine_time
from provisioner.gateway.door import Caller, GatewayProblem, let_in
from provisioner.gateway.follower import Follower, Item
from provisioner.gateway.streams import Lines

LONGEST = 64 * 1024  # characters of one line
RECHECK = 3.0  # seconds between two looks at whether the caller may still read
MOST_LINES = 5000


async def logs(request: Request) -> Response:
    """The newest `tail` lines. `follow` goes on from there, or from `since`: then with all that
    was said after it, however much. Without `follow`, `since` only leaves older lines out of the
    tail: the engine has no end to give to what came after a time."""
    caller = await let_in(request, "logs")
    query = request.query_params
    since, tail = _since(query.get("since", "")), _tail(query.get("tail") or "500")
    engine, name = get_backend().engine, names.container(caller.agent.pk)
    if not query.get("follow"):
        newest = await _newest(engine, name, tail)
        return Lines(_written([line for line in newest if line.at > since]))
    first = [] if since else await _newest(engine, name, tail)
    follower = Follower(caller.agent.pk, engine, name, first[-1].at if first else since)
    return Lines(_followed(caller, first, follower), follower.close)


def _since(text: str) -> str:
    """As engines write times, with nine digits: these can be compared as text."""
    if not text:
        return ""
    try:
        engine_time(text.encode("ascii").decode())
    except ValueError as error:
        raise GatewayProblem(
            422,
            "invalid",
            "since must be the `at` of a line, such as 2026-11-30T07:12:56.123456789Z.",
        ) from error
    moment, _, fraction = text.removesuffix("Z").partition(".")
    return f"{moment}.{fraction:0<9}Z"


def _tail(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 9 and int(text)):
        raise GatewayProblem(422, "invalid", f"tail must be a number from 1 to {MOST_LINES}.")
    return min(int(text), MOST_LINES)


async def _newest(engine: Engine, name: str, tail: int) -> list[LogLine]:
    try:
        return await asyncio.to_thread(engine.log_tail, name, tail)
    except (EngineUnavailable, EngineRefused) as error:
        raise GatewayProblem(
            503,
            "engine_silent",
            "The node's engine does not answer, so its log "
            "cannot be read. The agent most likely goes on.",
        ) from error


async def _written(lines: list[LogLine]) -> AsyncGenerator[str, None]:
    for line in lines:
        yield _text(line)


async def _followed(
    caller: Caller, first: list[LogLine], follower: Follower
) -> AsyncGenerator[str, None]:
    for line in first:
        yield _text(line)
    checked = time.monotonic()
    while True:
        try:
            async with asyncio.timeout(RECHECK):
                item = await follower.next()
        except TimeoutError:
            yield "\n"  # so that a reader who has gone is noticed
        else:
            if item is None:
                return
            yield _text(item)
        if time.monotonic() - checked > RECHECK:
            checked = time.monotonic()
            if not await from_async(tickets.still_allowed)(caller.ticket):
                return


def _text(item: Item) -> str:
    if isinstance(item, str):
        return json.dumps({"mark": item}) + "\n"
    return json.dumps({"at": item.at, "text": item.text[:LONGEST]}, ensure_ascii=False) + "\n"
