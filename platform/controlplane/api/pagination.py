"""Cursor pages: stable while rows come and go, the same cost on page 1 and page 1,000.

A cursor holds the place of the last row that was given out, not a number of rows to skip, so
rows made or deleted between two pages neither repeat nor hide others. It is signed: nothing
but what we wrote ourselves ever reaches a query.
"""

from datetime import datetime
from typing import Any

from django.core import signing
from django.db.models import Q, QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from controlplane.errors import Invalid

DEFAULT, MOST = 50, 200
PAGES = ("limit", "cursor")


class CursorPages(BasePagination):
    """`?limit=` (1 to 200, default 50) and `?cursor=` from the page before; newest first."""

    order: tuple[str, ...] = ("created_at", "id")  # together unique; all descending
    next_link: str | None = None

    def paginate_queryset(self, queryset: Any, request: Any, view: Any = None) -> list[Any]:
        limit = _limit(request.query_params.get("limit"))
        cursor = request.query_params.get("cursor")
        if cursor is not None:
            queryset = _after(queryset, self.order, self._read(cursor))
        rows = list(queryset.order_by(*(f"-{name}" for name in self.order))[: limit + 1])
        if len(rows) > limit:
            address = request.build_absolute_uri()
            self.next_link = replace_query_param(address, "cursor", self._write(rows[limit - 1]))
        return rows[:limit]

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"items": data, "next": self.next_link})

    def _write(self, row: Any) -> str:
        values = [getattr(row, name) for name in self.order]
        plain = [value.isoformat() if isinstance(value, datetime) else value for value in values]
        return signing.dumps(plain, salt=self._salt)

    def _read(self, cursor: str) -> list[Any]:
        try:
            values: list[Any] = signing.loads(cursor, salt=self._salt)
        except signing.BadSignature as error:
            raise Invalid("cursor", "This cursor is not one of ours. Start without it.") from error
        return values

    @property
    def _salt(self) -> str:
        return f"roost.cursor.{'.'.join(self.order)}"

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

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        number = {"type": "integer", "minimum": 1, "maximum": MOST, "default": DEFAULT}
        return [
            {"name": "limit", "in": "query", "required": False, "schema": number},
            {
                "name": "cursor",
                "in": "query",
                "required": False,
                "description": "Where to go on: follow `next` of the page before.",
                "schema": {"type": "string"},
            },
        ]


def _limit(text: str | None) -> int:
    if text is None:
        return DEFAULT
    if not (text.isascii() and text.isdigit() and len(text) < 9 and 1 <= int(text) <= MOST):
        raise Invalid("limit", f"limit must be a number from 1 to {MOST}.")
    return int(text)


def _after(rows: QuerySet[Any], names: tuple[str, ...], values: list[Any]) -> QuerySet[Any]:
    behind, same = Q(), Q()
    for name, value in zip(names, values, strict=True):
        behind |= same & Q(**{f"{name}__lt": value})
        same &= Q(**{name: value})
    # The second condition follows from the first; it is the one an index can use.
    return rows.filter(behind, **{f"{names[0]}__lte": values[0]})
