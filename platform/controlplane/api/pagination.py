"""Cursor pages: stable while rows come and go, the same cost on page 1 and page 1,000."""

from typing import Any

from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination
from rest_framework.response import Response

from controlplane.errors import Invalid


class CursorPages(CursorPagination):
    """`?limit=` (1 to 200, default 50) and `?cursor=` from the page before."""

    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 200
    ordering = ("-created_at", "-id")

    def paginate_queryset(self, queryset: Any, request: Any, view: Any = None) -> list[Any] | None:
        limit = request.query_params.get(self.page_size_query_param)
        if limit is not None and not (limit.isascii() and limit.isdigit() and int(limit[:6]) >= 1):
            raise Invalid("limit", "limit must be a number from 1 to 200.")
        try:
            return super().paginate_queryset(queryset, request, view)
        except (NotFound, ValueError, OverflowError) as error:
            # "Not found" is what DRF says of a cursor it cannot read.
            raise Invalid("cursor", "This cursor is not one of ours. Start without it.") from error

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"items": data, "next": self.get_next_link()})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "required": ["items", "next"],
            "properties": {
                "items": schema,
                "next": {
                    "type": ["string", "null"],
                    "format": "uri",
                    "description": "The address of the next page; null on the last.",
                },
            },
        }
