"""What every request passes first: its key, its size, its JSON. Nothing here is ever logged."""

import json
from typing import Literal, NoReturn
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from deploy.model import gemini
from deploy.model.fields import Body, check_json, mapping
from deploy.model.rejected import Rejected

Provider = Literal["openai", "anthropic", "gemini"]
LARGEST_BODY = 8 * 1024 * 1024
WRONG = ("wrong-", "sk-wrong")
OWN_HEADER: dict[Provider, str] = {
    "openai": "authorization",
    "anthropic": "x-api-key",
    "gemini": "x-goog-api-key",
}


class HideKeyInQuery:
    """Moves `?key=` (Gemini's) into a header, in place: the server's access log shows the query."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        query = scope.get("query_string", b"").decode("latin-1")
        if scope["type"] == "http" and "key" in query:
            pairs = parse_qsl(query, keep_blank_values=True)
            others = [(name, value) for name, value in pairs if name != "key"]
            keys = [value for name, value in pairs if name == "key"]
            scope["query_string"] = urlencode(others).encode()
            for key in keys:
                scope["headers"] = [*scope["headers"], (b"x-goog-api-key", key.encode())]
        await self.app(scope, receive, send)


def check_key(request: Request, provider: Provider) -> None:
    """Any key passes but an empty one and those made up to be wrong."""
    own = request.headers.get(OWN_HEADER[provider], "") if provider != "openai" else ""
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    key = own.strip() or (bearer.strip() if scheme.lower() == "bearer" else "")
    if not key or key.startswith(WRONG):
        _refuse(provider, missing=not key, by_own_header=bool(own))


def _refuse(provider: Provider, *, missing: bool, by_own_header: bool) -> NoReturn:
    match provider:
        case "openai" if missing:
            raise Rejected(401, "You didn't provide an API key.", code="missing_api_key")
        case "openai":
            raise Rejected(401, "Incorrect API key provided.")
        case "anthropic":
            raise Rejected(401, "x-api-key header is required" if missing else "invalid x-api-key")
        case "gemini" if missing:
            raise Rejected(403, "The request has no API key.")
        case "gemini" if by_own_header:  # The provider says 400 here, not 401.
            message = "API key not valid. Please pass a valid API key."
            raise Rejected(400, message, code=gemini.INVALID_KEY)
    raise Rejected(401, "Request had invalid authentication credentials.")


async def read(request: Request) -> Body:
    """The body as a JSON object, or a 413 or 400."""
    raw = bytearray()
    async for piece in request.stream():
        raw += piece
        if len(raw) > LARGEST_BODY:
            raise Rejected(413, f"The request is larger than {LARGEST_BODY} bytes.")
    try:
        body = json.loads(raw)
        check_json(body)
    except (ValueError, RecursionError) as error:
        raise Rejected(400, "The request's body is not valid JSON.") from error
    if not isinstance(body, dict):
        raise Rejected(400, "The request's body must be a JSON object.")
    return mapping(body, "body")
