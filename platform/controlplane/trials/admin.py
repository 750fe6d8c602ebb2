from django.contrib import admin

from controlplane.audit.admin import ReadOnly
from controlplane.trials.models import TrialPlan, TrialRestore


@admin.register(TrialRestore)
class TrialRestoreAdmin(ReadOnly):
    list_display = [
        *("id", "organisation", "agent", "snapshot", "status", "outcome"),
        *("took_ms", "bytes", "created_at", "message"),
    ]
    list_filter = ["outcome", "status"]
    list_select_related = ["organisation", "agent", "snapshot"]
    search_fields = ["id", "agent__name", "agent__id", "organisation__name", "snapshot__id"]
    ordering = ["-created_at"]


@admin.register(TrialPlan)
class TrialPlanAdmin(ReadOnly):
    list_display = ["organisation", "next_at", "rule"]
    list_select_related = ["organisation"]
    search_fields = ["organisation__name", "organisation__id"]
    ordering = ["next_at"]
