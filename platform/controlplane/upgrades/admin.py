from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from controlplane.audit.actor import Actor
from controlplane.audit.admin import ReadOnly
from controlplane.tenants.models import User
from controlplane.upgrades.actions import allow_again
from controlplane.upgrades.models import Halt, Upgrade


@admin.register(Upgrade)
class UpgradeAdmin(ReadOnly):
    list_display = [
        *("id", "agent", "from_version", "to_version", "status", "outcome", "reason"),
        "created_at",
    ]
    list_filter = ["outcome", "status", "to_version"]
    list_select_related = ["agent"]
    search_fields = ["id", "agent__name", "agent__id", "agent__organisation__name", "to_image"]
    ordering = ["-created_at"]


@admin.register(Halt)
class HaltAdmin(ReadOnly):
    """Images that nobody is moved to any more; an operator who knows why can allow one again."""

    list_display = ["image", "runtime", "version", "since", "reason", "lifted_at", "lifted_by"]
    list_filter = ["runtime"]
    search_fields = ["image"]
    ordering = ["-since"]
    actions = ["allow"]

    def has_change_permission(self, request: HttpRequest, obj: Halt | None = None) -> bool:
        # The list's action needs it; on a page of its own every field is read-only.
        return obj is None

    @admin.action(description="Allow upgrades to this image again")
    def allow(self, request: HttpRequest, halts: QuerySet[Halt]) -> None:
        user = request.user
        assert isinstance(user, User)  # noqa: S101  the admin lets nobody else in
        label = f"operator {user}"[:254]
        actor = Actor("operator", str(user.pk), label, request.META.get("REMOTE_ADDR"))
        for halt in halts:
            allow_again(actor, halt)
        self.message_user(request, f"Allowed again: {len(halts)}.")
