from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from controlplane.agents import actions
from controlplane.agents.dispatch import request_reconcile
from controlplane.agents.models import Agent, Condition, Event, Release
from controlplane.audit.actor import Actor
from controlplane.errors import Refusal
from controlplane.tenants.access import Access
from controlplane.tenants.models import Role, User
from controlplane.tenants.permissions import scopes_of


class ReadOnlyInline(admin.TabularInline[Any, Agent]):
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReleaseInline(ReadOnlyInline):
    model = Release
    fk_name = "agent"
    fields = ["number", "image", "why", "model", "memory_mb", "author_label", "created_at"]
    readonly_fields = ["created_at"]


class ConditionInline(ReadOnlyInline):
    model = Condition


class EventInline(ReadOnlyInline):
    model = Event
    fields = ["at", "level", "title", "detail", "actor"]
    readonly_fields = ["at"]
    ordering = ["-id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).order_by("-id")


def operator_access(request: HttpRequest, agent: Agent) -> Access:
    """An operator acts with an owner's rights, under their own name in the audit log."""
    user = request.user
    assert isinstance(user, User)  # noqa: S101  the admin lets nobody else in
    label = f"operator {user}"[:254]
    actor = Actor("operator", str(user.pk), label, request.META.get("REMOTE_ADDR"))
    return Access(agent.organisation, actor, user, scopes_of(Role.OWNER), Role.OWNER)


@admin.register(Agent)
class AgentAdmin(admin.ModelAdmin[Agent]):
    """Shows and nudges. What a worker owns is read-only; actions are the customers' own."""

    list_display = ["name", "id", "organisation", "runtime", "goal", "status", "reason", "node"]
    list_filter = ["status", "goal", "runtime", "node"]
    list_select_related = ["organisation"]
    search_fields = ["name", "id", "organisation__name", "organisation__slug", "reason"]
    inlines = [ConditionInline, ReleaseInline, EventInline]
    fieldsets = [
        (None, {"fields": ["name", "id", "organisation", "runtime", "node", "created_by"]}),
        (
            "What people want",
            {"fields": ["goal", "release", "generation", "restart_serial"]},
        ),
        (
            "What was seen",
            {
                "fields": [
                    *("status", "reason", "message", "status_since", "deadline_at", "step"),
                    *("observed_generation", "observed_release", "address", "quota_enforcement"),
                    *("workspace_made_at", "ready_at", "seen_at", "due_at", "purge_at"),
                    *("crashes", "life", "ready_life"),
                    *("disk_used", "disk_total", "disk_level", "disk_at"),
                ]
            },
        ),
        ("The lease", {"fields": ["lease_owner", "lease_until", "fence"]}),
    ]
    actions = ["start", "stop", "restart", "bring_back", "reconcile_now"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Agent | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Agent | None = None) -> bool:
        # The list's actions need it; on an agent's own page every field is read-only.
        return obj is None

    @admin.action(description="Start")
    def start(self, request: HttpRequest, agents: QuerySet[Agent]) -> None:
        self._each(request, agents, actions.start_agent)

    @admin.action(description="Stop")
    def stop(self, request: HttpRequest, agents: QuerySet[Agent]) -> None:
        self._each(request, agents, actions.stop_agent)

    @admin.action(description="Restart")
    def restart(self, request: HttpRequest, agents: QuerySet[Agent]) -> None:
        self._each(request, agents, actions.restart_agent)

    @admin.action(description="Bring back a deleted agent, stopped")
    def bring_back(self, request: HttpRequest, agents: QuerySet[Agent]) -> None:
        self._each(request, agents, actions.restore_agent)

    @admin.action(description="Look again now")
    def reconcile_now(self, request: HttpRequest, agents: QuerySet[Agent]) -> None:
        for agent in agents:
            request_reconcile(agent)
        self.message_user(request, f"Asked the nodes to look at {len(agents)} agents.")

    def _each(
        self,
        request: HttpRequest,
        agents: QuerySet[Agent],
        act: Callable[[Access, Agent], Agent],
    ) -> None:
        done = 0
        for agent in agents.select_related("organisation"):
            try:
                act(operator_access(request, agent), agent)
                done += 1
            except Refusal as refusal:
                self.message_user(request, f"{agent}: {refusal}", messages.ERROR)
        self.message_user(request, f"Done for {done} agents.")
