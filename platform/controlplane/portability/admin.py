from django.contrib import admin

from controlplane.audit.admin import ReadOnly
from controlplane.portability.models import Export, Import


@admin.register(Export)
class ExportAdmin(ReadOnly):
    list_display = ["id", "agent", "status", "bytes", "requested_by", "kept_until", "message"]
    list_filter = ["status"]
    list_select_related = ["agent"]
    search_fields = ["id", "agent__name", "agent__id", "agent__organisation__name"]
    ordering = ["-created_at"]


@admin.register(Import)
class ImportAdmin(ReadOnly):
    list_display = ["id", "organisation", "agent", "status", "requested_by", "message"]
    list_filter = ["status"]
    list_select_related = ["agent", "organisation"]
    search_fields = ["id", "agent__name", "agent__id", "organisation__name"]
    ordering = ["-created_at"]
