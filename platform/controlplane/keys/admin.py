from django.contrib import admin
from django.http import HttpRequest

from controlplane.keys.models import Key


@admin.register(Key)
class KeyAdmin(admin.ModelAdmin[Key]):
    """To find and to read. There is no value here to show."""

    list_display = ["name", "provider", "organisation", "hint", "version", "revoked_at"]
    list_filter = ["provider"]
    list_select_related = ["organisation"]
    search_fields = ["name", "id", "organisation__name"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Key | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Key | None = None) -> bool:
        return False
