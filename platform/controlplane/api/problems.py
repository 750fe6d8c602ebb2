"""One shape for every refusal: RFC 9457 problem details with a stable `code`."""

import logging
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from controlplane.api.parsers import BodyTooLarge
from controlplane.errors import Forbidden, Invalid, NotFound, Refusal, Unavailable

log = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
SENTENCES = {
    401: "Send an API token as 'Authorization: Bearer ...'. Tokens are made in the dashboard.",
    405: "This address does not take that method.",
    415: "Send JSON with 'Content-Type: application/json'.",
    406: "This address answers in JSON (and text/event-stream where documented).",
    429: "Too many requests. Wait as long as Retry-After says.",
}
DATABASE_AWAY = (
    "The database cannot be used just now. Nothing was stored; running agents go on. "
    "Try again in a moment."
)


def problem(
    status: int, code: str, detail: str, errors: list[dict[str, str]] | None = None, **extra: Any
) -> Response:
    """A problem response; `errors` lists {"field", "message"} where fields are to blame."""
    body: dict[str, Any] = {"type": f"urn:roost:problem:{code}", "title": code.replace("_", " ")}
    body |= {"status": status, "code": code, "detail": detail, **extra}
    if errors:
        body["errors"] = errors
    return Response(body, status=status, content_type=CONTENT_TYPE)


def exception_handler(exc: Exception, context: dict[str, Any]) -> Response | None:
    """Turn an exception into a problem; None lets Django answer 500 and log the traceback."""
    set_rollback()
    response = problem_for(exc)
    if response is not None:
        request = context.get("request")
        response.data["request_id"] = getattr(request, "request_id", None)
        for name, value in _headers(exc).items():
            response[name] = value
    return response


def problem_for(exc: Exception) -> Response | None:
    match exc:
        case Invalid():
            errors = [{"field": exc.field, "message": str(exc)}]
            return problem(exc.status, exc.code, str(exc), errors)
        case Refusal() | Unavailable():
            return problem(exc.status, exc.code, str(exc))
        case Http404():
            return problem(404, NotFound.code, str(NotFound()))
        case PermissionDenied():
            return problem(403, Forbidden.code, "You may not do that here.")
        case exceptions.ValidationError():
            errors = list(_flatten(exc.detail))
            return problem(422, Invalid.code, _sentence(errors), errors)
        case exceptions.APIException():
            return response_for(exc)
        case RequestDataTooBig():
            return response_for(BodyTooLarge())
        case OperationalError() | InterfaceError():
            log.error("the database cannot be used: %s", exc)
            return problem(503, Unavailable.code, DATABASE_AWAY)
    return None


def response_for(exc: exceptions.APIException) -> Response:
    code = str(exc.get_codes()) if isinstance(exc.detail, str) else exc.default_code
    if isinstance(exc, exceptions.ParseError):
        code = "broken_body"
    detail = str(exc.detail)
    if exc.status_code in SENTENCES and detail == str(type(exc).default_detail):
        detail = SENTENCES[exc.status_code]
    return problem(exc.status_code, code, detail)


def _headers(exc: Exception) -> dict[str, str]:
    headers: dict[str, str] = {}
    if header := getattr(exc, "auth_header", None):
        headers["WWW-Authenticate"] = header
    if wait := getattr(exc, "wait", None):
        headers["Retry-After"] = str(int(wait))
    return headers


def _flatten(detail: Any, field: str = "") -> Any:
    """DRF nests messages by field; programs want a flat list."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            yield from _flatten(inner, f"{field}.{name}" if field else str(name))
    elif isinstance(detail, list):
        for inner in detail:
            yield from _flatten(inner, field)
    else:
        yield {"field": "" if field == "non_field_errors" else field, "message": str(detail)}


def _sentence(errors: list[dict[str, str]]) -> str:
    first = errors[0]
    more = f" ({len(errors) - 1} more below.)" if len(errors) > 1 else ""
    where = f"{first['field']}: " if first["field"] else ""
    return f"{where}{first['message']}{more}"
