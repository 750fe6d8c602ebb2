from django.contrib import admin

from controlplane.audit.admin import ReadOnly
from controlplane.keys.models import Key, Secret


class VaultedAdmin(ReadOnly):
    """To find and to read. There is no value here to show."""

    list_select_related = ["organisation"]
    search_fields = ["name", "id", "organisation__name"]


@admin.register(Key)
class KeyAdmin(VaultedAdmin):
    list_display = [
        *("name", "provider", "organisation", "hint", "version", "checked_at", "revoked_at"),
    ]
    list_filter = ["provider"]


@admin.register(Secret)
class SecretAdmin(VaultedAdmin):
    list_display = ["name", "kind", "size", "organisation", "version", "revoked_at"]
    list_filter = ["kind"]
