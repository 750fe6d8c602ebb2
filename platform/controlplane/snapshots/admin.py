from django.contrib import admin

from controlplane.audit.admin import ReadOnly
from controlplane.snapshots.models import Restore, Snapshot


@admin.register(Snapshot)
class SnapshotAdmin(ReadOnly):
    list_display = ["id", "agent", "origin", "status", "bytes", "on_node", "verified_at", "message"]
    list_filter = ["status", "origin", "on_node"]
    list_select_related = ["agent"]
    search_fields = ["id", "agent__name", "agent__id", "agent__organisation__name"]
    ordering = ["-created_at"]


@admin.register(Restore)
class RestoreAdmin(ReadOnly):
    list_display = ["id", "agent", "snapshot", "status", "requested_by", "created_at", "message"]
    list_filter = ["status"]
    list_select_related = ["agent", "snapshot"]
    search_fields = ["id", "agent__name", "agent__id", "agent__organisation__name"]
    ordering = ["-created_at"]
