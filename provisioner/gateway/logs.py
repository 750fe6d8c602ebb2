"""An agent's log: the newest lines, and following it across restarts and replacement.

The engine's stream ends with its container and with the engine, without a word; the follower
then looks again and goes on from the last time it saw, so nothing is missing or twice.
"""

import asyncio
import json
import re
import threading
import time
from collections.abc import AsyncIterator, Iterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from controlplane.agents import tickets
from controlplane.database import from_async
from provisioner import names
from provisioner.backend import get_backend
from provisioner.engines.base import Engine, EngineRefused, EngineUnavailable, LogLine
from provisioner.gateway.door import Caller, GatewayProblem, let_in

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")
LONGEST = 64 * 1024  # characters of one line
RECHECK = 3.0  # seconds between two looks at whether the caller may still read
AGAIN = 0.5  # seconds between two looks for a container
BACKLOG = 2000  # lines a slow reader may be behind


async def logs(request: Request) -> Response:
    caller = await let_in(request, "logs")
    query = request.query_params
    since = query.get("since", "")
    if since and not TIME.fullmatch(since):
        raise GatewayProblem(
            422,
            "invalid",
            "since must be the `at` of a line, such as 2026-11-30T07:12:56.123456789Z.",
        )
    tail = min(int(query.get("tail", "500") or 500), 5000)
    engine, name = get_backend().engine, names.container(caller.agent.pk)
    try:
        lines = await asyncio.to_thread(engine.log_tail, name, tail)
    except (EngineUnavailable, EngineRefused) as error:
        raise GatewayProblem(
            503,
            "engine_silent",
            "The node's engine does not answer, so its log "
            "cannot be read. The agent most likely goes on.",
        ) from error
    lines = [line for line in lines if line.at > since]
    if not query.get("follow"):
        return _answer(_written(lines))
    return _answer(_follow(caller, engine, name, lines, since))


def _answer(lines: AsyncIterator[str]) -> Response:
    return StreamingResponse(lines, media_type="application/x-ndjson")


async def _written(lines: list[LogLine]) -> AsyncIterator[str]:
    for line in lines:
        yield _text(line)


async def _follow(
    caller: Caller, engine: Engine, name: str, first: list[LogLine], since: str
) -> AsyncIterator[str]:
    for line in first:
        yield _text(line)
    last = first[-1].at if first else since
    queue: asyncio.Queue[LogLine | str] = asyncio.Queue(BACKLOG)
    stop = threading.Event()
    loop = asyncio.get_running_loop()

    def put(item: LogLine | str) -> None:
        future = asyncio.run_coroutine_threadsafe(queue.put(item), loop)
        while not stop.is_set():
            try:
                future.result(0.5)
                return
            except TimeoutError:
                continue
        future.cancel()

    def read() -> None:
        for item in follow_forever(engine, name, last, stop):
            put(item)

    threading.Thread(target=read, name=f"log {name}", daemon=True).start()
    checked = time.monotonic()
    try:
        while True:
            try:
                item = await asyncio.wait_for(queue.get(), RECHECK)
                yield (
                    _text(item) if isinstance(item, LogLine) else json.dumps({"mark": item}) + "\n"
                )
            except TimeoutError:
                yield "\n"  # so that a reader who has gone is noticed
            if time.monotonic() - checked > RECHECK:
                checked = time.monotonic()
                if not await from_async(tickets.still_allowed)(caller.ticket):
                    return
    finally:
        stop.set()


def follow_forever(
    engine: Engine, name: str, last: str, stop: threading.Event
) -> Iterator[LogLine | str]:
    """Lines, and a sentence where the container was replaced. Blocks; ends when stopped."""
    known = ""
    while not stop.is_set():
        try:
            container = engine.inspect(name)
            if container is not None:
                if known and container.id != known:
                    yield "Container replaced. Nothing is missing."
                known = container.id
                for line in engine.log_follow(name, last):
                    last = line.at
                    yield line
                    if stop.is_set():
                        return
        except (EngineUnavailable, EngineRefused):
            pass  # not knowing is not an end: look again
        stop.wait(AGAIN)


def _text(line: LogLine) -> str:
    return json.dumps({"at": line.at, "text": line.text[:LONGEST]}, ensure_ascii=False) + "\n"
