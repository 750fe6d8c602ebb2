from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from controlplane.audit.admin import ReadOnly
from controlplane.scans.models import OperatorReport, Scan, ScanKey


@admin.register(Scan)
class ScanAdmin(ReadOnly):
    list_display = ["id", "agent", "status", "findings", "unseen", "requested_by", "created_at"]
    list_filter = ["status"]
    list_select_related = ["agent"]
    search_fields = ["id", "agent__name", "agent__id", "agent__organisation__name"]
    ordering = ["-created_at"]


class Found(admin.SimpleListFilter):
    title = "outcome"
    parameter_name = "found"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "Found something"), ("no", "Found nothing")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case "yes":
                return queryset.filter(findings__gt=0)
            case "no":
                return queryset.filter(findings=0)
        return queryset


@admin.register(OperatorReport)
class OperatorReportAdmin(ReadOnly):
    """What scans found in shared places, which no organisation is told."""

    list_display = ["id", "agent", "findings", "unseen", "created_at"]
    list_filter = [Found]
    search_fields = ["id", "agent"]
    ordering = ["-created_at"]


@admin.register(ScanKey)
class ScanKeyAdmin(ReadOnly):
    list_display = ["id", "public_key", "created_at"]
