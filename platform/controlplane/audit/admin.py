from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from controlplane.audit.models import AuditEvent


class ReadOnly(admin.ModelAdmin[Any]):
    """Rows that operators look at and never edit."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnly):
    """To read and search; nobody edits the past."""

    list_display = ["at", "actor_label", "action", "target_label", "target", "organisation", "ip"]
    list_filter = ["action", "actor_kind"]
    search_fields = ["actor_label", "target", "target_label", "organisation", "action"]
    date_hierarchy = "at"
