from django.contrib import admin
from django.http import HttpRequest

from provisioner.models import Block, Node


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]
    """Nodes write these rows; operators read them."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(Node)
class NodeAdmin(ReadOnly):
    list_display = ["name", "heartbeat_at", "engine", "engine_silent_since"]
    search_fields = ["name"]


@admin.register(Block)
class BlockAdmin(ReadOnly):
    list_display = ["number", "node", "organisation"]
    list_select_related = ["organisation"]
    search_fields = ["organisation__name"]
