"""Who is let in, and how much may be brought along."""

import hmac
import json
from http import HTTPStatus
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

OPEN = "/ok"
LARGEST_BODY = 1024 * 1024  # bytes


class Problem(Exception):
    """Ends a request with a message for people."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def problem(status: int, message: str) -> Response:
    return JSONResponse({"error": {"message": message}}, status_code=status)


class Door:
    """Everything but the health path asks for the agent's token, whether it exists or not."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != OPEN:
            given = Headers(scope=scope).get("authorization", "").encode()
            if not hmac.compare_digest(given, self._expected):
                refusal = problem(HTTPStatus.UNAUTHORIZED, "The agent's token is missing or wrong.")
                return await refusal(scope, receive, send)
        await self._app(scope, receive, send)


async def read(request: Request) -> dict[str, Any]:
    """The body as a JSON object. Raises Problem."""
    raw = bytearray()
    async for piece in request.stream():
        raw += piece
        if len(raw) > LARGEST_BODY:
            raise Problem(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"The body is larger than {LARGEST_BODY // 1024} KiB. Send less at once.",
            )
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Problem(HTTPStatus.BAD_REQUEST, "The body is not valid JSON.") from error
    if not isinstance(body, dict):
        raise Problem(HTTPStatus.BAD_REQUEST, "The body must be a JSON object.")
    return body
