from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.http import HttpRequest

from controlplane.tenants.models import ApiToken, Membership, Organisation, User


class MembershipInline(admin.TabularInline[Membership, Organisation]):
    model = Membership
    extra = 0
    autocomplete_fields = ["user"]
    fields = ["user", "role"]


@admin.register(Organisation)
class OrganisationAdmin(admin.ModelAdmin[Organisation]):
    list_display = ["name", "slug", "id", "agent_limit", "memory_mb_limit", "paused_reason"]
    search_fields = ["name", "slug", "id"]
    readonly_fields = ["id", "created_at"]
    inlines = [MembershipInline]


@admin.register(User)
class UserAdmin(DjangoUserAdmin[User]):
    list_display = ["email", "name", "is_staff", "is_active", "last_login"]
    search_fields = ["email", "name"]
    ordering = ["email"]
    readonly_fields = ["last_login", "created_at"]
    fieldsets = [
        (None, {"fields": ["email", "name", "password"]}),
        ("Rights", {"fields": ["is_active", "is_staff", "is_superuser"]}),
        ("Times", {"fields": ["last_login", "created_at"]}),
    ]
    add_fieldsets = [(None, {"fields": ["email", "password1", "password2"]})]
    list_filter = ["is_staff", "is_active"]
    filter_horizontal = []


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin[ApiToken]):
    """To find and to read. Tokens are made and revoked by their organisation."""

    list_display = ["name", "prefix", "organisation", "created_by", "last_used_at", "revoked_at"]
    list_select_related = ["organisation", "created_by"]
    search_fields = ["name", "prefix", "id", "organisation__name"]
    exclude = ["digest"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return False
