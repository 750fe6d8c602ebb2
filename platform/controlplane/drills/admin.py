from django.contrib import admin

from controlplane.audit.admin import ReadOnly
from controlplane.drills.models import Drill, DrillPlan


@admin.register(Drill)
class DrillAdmin(ReadOnly):
    list_display = ["id", "agent", "kind", "status", "verdict", "recovery_ms", "created_at"]
    list_filter = ["verdict", "kind", "status"]
    list_select_related = ["agent"]
    search_fields = ["id", "agent__name", "agent__id", "agent__organisation__name"]
    ordering = ["-created_at"]


@admin.register(DrillPlan)
class DrillPlanAdmin(ReadOnly):
    list_display = ["agent", "kind", "every_days", "next_at", "set_by"]
    list_select_related = ["agent"]
    search_fields = ["agent__name", "agent__id", "agent__organisation__name"]
    ordering = ["next_at"]
