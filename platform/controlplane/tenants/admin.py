from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.db import transaction
from django.http import HttpRequest

from controlplane.audit.actor import Actor
from controlplane.audit.admin import ReadOnly
from controlplane.audit.record import record
from controlplane.tenants.models import ApiToken, Membership, Organisation, User


class AuditedAdmin(admin.ModelAdmin[Any]):
    """What operators change here is in the audit log like everything else: fields, not values.

    Nothing is deleted here: agents, keys and the audit log hang on these rows.
    """

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        noun, target = self.opts.model_name, form.instance
        related = [
            f"{verb} {row}"
            for formset in formsets
            for verb, rows in (
                ("added", formset.new_objects),
                ("changed", [row for row, _ in formset.changed_objects]),
                ("removed", formset.deleted_objects),
            )
            for row in rows
        ]
        record(
            _operator(request),
            f"{noun}.{'edited' if change else 'made'}",
            str(target.pk),
            organisation=target.pk if isinstance(target, Organisation) else "",
            label=str(target),
            data={"fields": sorted(form.changed_data), "related": related},
        )


def _operator(request: HttpRequest) -> Actor:
    label = f"operator {request.user}"[:254]
    return Actor("operator", str(request.user.pk), label, request.META.get("REMOTE_ADDR"))


class MembershipInline(admin.TabularInline[Membership, Organisation]):
    model = Membership
    extra = 0
    autocomplete_fields = ["user"]
    fields = ["user", "role"]


@admin.register(Organisation)
class OrganisationAdmin(AuditedAdmin):
    list_display = ["name", "slug", "id", "agent_limit", "memory_mb_limit", "paused_reason"]
    search_fields = ["name", "slug", "id"]
    readonly_fields = ["id", "created_at"]
    inlines = [MembershipInline]


@admin.register(User)
class UserAdmin(AuditedAdmin, DjangoUserAdmin[User]):
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

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> Any:
        response = super().user_change_password(request, id, form_url)
        if request.method == "POST" and response.status_code == 302:
            with transaction.atomic():
                record(_operator(request), "user.password_set", id)
        return response


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnly):
    """To find and to read. Tokens are made and revoked by their organisation."""

    list_display = ["name", "prefix", "organisation", "created_by", "last_used_at", "revoked_at"]
    list_select_related = ["organisation", "created_by"]
    search_fields = ["name", "prefix", "id", "organisation__name"]
    exclude = ["digest"]
