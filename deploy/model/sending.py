"""Sending an answer at its pace; a client that hangs up ends it."""

import json
from collections.abc import AsyncIterator

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from deploy.model.exchange import Ask, Dialect, Frame, Reply


async def send(request: Request, dialect: Dialect, ask: Ask, reply: Reply) -> Response:
    if ask.stream and not dialect.as_list:
        frames = list(dialect.frames(ask, reply))
        stream = paced(frames, reply.seconds)
        headers = {"cache-control": "no-cache"}
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)
    if reply.seconds and await hung_up(request, reply.seconds):
        return Response(status_code=499)  # Nobody reads it.
    if ask.stream:
        return JSONResponse([frame.data for frame in dialect.frames(ask, reply)])
    return JSONResponse(dialect.plain(ask, reply))


async def paced(frames: list[Frame], seconds: float) -> AsyncIterator[bytes]:
    pause = seconds / max(1, sum(frame.paced for frame in frames))
    for frame in frames:
        if frame.paced and pause:
            await anyio.sleep(pause)
        yield encode(frame)


def encode(frame: Frame) -> bytes:
    named = f"event: {frame.event}\n" if frame.event else ""
    data = frame.data if isinstance(frame.data, str) else json.dumps(frame.data)
    return f"{named}data: {data}\n\n".encode()


async def hung_up(request: Request, seconds: float) -> bool:
    """Waits that long, or until the client leaves; whether it left."""
    with anyio.move_on_after(seconds):
        while (await request.receive())["type"] != "http.disconnect":
            pass
        return True
    return False
