"""What the OpenAPI generator cannot work out by itself: headers, and problems everywhere."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from controlplane.api.idempotency import HEADER

PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Stable; for programs."},
        "detail": {"type": "string", "description": "One sentence; for people."},
        "request_id": {"type": ["string", "null"]},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "controlplane.tenants.authentication.TokenAuthentication"
    name = "apiToken"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An API token: rst_..."}


class RoostAutoSchema(AutoSchema):
    def get_override_parameters(self) -> list[Any]:
        parameters = list(super().get_override_parameters())
        if self.method == "POST":
            text = "Send the same key again after a lost answer: one effect, the same answer."
            parameters.append(_header(HEADER, text))
        if self.method == "PATCH":
            parameters.append(_header("If-Match", "The ETag you read; refused with 412 if older."))
        return parameters

    def _get_response_bodies(self, direction: Any = "response") -> Any:
        bodies = super()._get_response_bodies(direction)
        bodies["default"] = {
            "description": "A problem (RFC 9457); `code` says which.",
            "content": {"application/problem+json": {"schema": PROBLEM}},
        }
        return bodies


def _header(name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(
        name, str, OpenApiParameter.HEADER, required=False, description=description
    )


def last_event_id() -> OpenApiParameter:
    return _header("Last-Event-ID", "The id of the last event you got; those after it follow.")


EVENT_STREAM = OpenApiResponse(
    response={"type": "string"}, description="text/event-stream; see docs/api.md for the events."
)
