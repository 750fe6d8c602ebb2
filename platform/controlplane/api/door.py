"""The web process's door: what Django itself would stumble over is turned away here.

Django takes in a whole body, onto the disk where it is large, before anybody asks who sent it;
and what comes in pieces without a length the API does not read at all. Here bodies are counted
as they come, and those in pieces get their length. Some headers make Django's parser raise
before there is a request to answer.
"""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.utils.http import parse_header_parameters
from rest_framework.exceptions import APIException, ParseError

from controlplane.api.parsers import MAX_BODY, BodyTooLarge
from controlplane.api.problems import CONTENT_TYPE, response_for
from controlplane.ids import new_id

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

# Most clients read an answer only after all is sent: let go by what an honest mistake sends.
PATIENCE = 32 * 1024 * 1024
PARSED = {b"content-type", b"accept"}
ODD_HEAD = "The query string, Accept or Content-Type cannot be read. Send plain UTF-8 text."


class Door:
    """An ASGI application around another one."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body, size = await _take(receive)
        if size > MAX_BODY:
            await _refuse(send, BodyTooLarge())
        elif not _readable(scope):
            await _refuse(send, ParseError(ODD_HEAD))
        else:
            await self.app(_with_length(scope, size), _again(body, receive), send)


async def _take(receive: Receive) -> tuple[Message, int]:
    """The whole body as one message, and its size; a too large one is read and dropped."""
    body, size, message = bytearray(), 0, await receive()
    while message["type"] == "http.request":
        size += len(message.get("body", b""))
        if size <= MAX_BODY:
            body += message.get("body", b"")
        if not message.get("more_body", False) or size > PATIENCE:
            return {"type": "http.request", "body": bytes(body), "more_body": False}, size
        message = await receive()
    return message, 0  # they left in the middle


def _again(message: Message, receive: Receive) -> Receive:
    waiting = [message]

    async def next_message() -> Message:
        return waiting.pop() if waiting else await receive()

    return next_message


def _with_length(scope: Message, size: int) -> Message:
    if not size or any(name == b"content-length" for name, _ in scope["headers"]):
        return scope
    return {**scope, "headers": [*scope["headers"], (b"content-length", str(size).encode())]}


def _readable(scope: Message) -> bool:
    try:
        scope["query_string"].decode()
        for name, value in scope["headers"]:
            if name in PARSED:
                parse_header_parameters(value.decode("latin1"))
    except ValueError:
        return False
    return True


async def _refuse(send: Send, error: APIException) -> None:
    response = response_for(error)
    response.data["request_id"] = request_id = new_id("req")
    headers = {"content-type": CONTENT_TYPE, "x-request-id": request_id, "connection": "close"}
    await send(
        {
            "type": "http.response.start",
            "status": response.status_code,
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
    )
    await send({"type": "http.response.body", "body": json.dumps(response.data).encode()})
