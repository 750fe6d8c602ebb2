from collections.abc import Callable

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from controlplane.audit.actor import Actor
from controlplane.audit.admin import ReadOnly
from controlplane.errors import Refusal
from provisioner import memory
from provisioner.models import Block, Node, ReapPlan, Stray
from provisioner.pool import GIBIBYTE, overcommitment
from provisioner.strays import deciding, reaping
from provisioner.strays.adopting import adopt
from provisioner.strays.models import State


def operator(request: HttpRequest) -> Actor:
    """Under their own name in the audit log."""
    label = f"operator {request.user}"[:254]
    return Actor("operator", str(request.user.pk), label, request.META.get("REMOTE_ADDR"))


class Acting(ReadOnly):
    """Rows that operators do not edit, with actions on them in the list."""

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return obj is None

    def each(
        self, request: HttpRequest, keys: list[str], act: Callable[[Actor, str], object]
    ) -> None:
        done = 0
        for key in keys:
            try:
                act(operator(request), key)
                done += 1
            except Refusal as refusal:
                self.message_user(request, f"{key}: {refusal}", messages.ERROR)
        self.message_user(request, f"Done for {done}.")


@admin.register(Node)
class NodeAdmin(Acting):
    actions = ["trust_database"]
    list_display = [
        *("name", "heartbeat_at", "engine", "engine_silent_since", "guard_restored_at"),
        *("pool", "promised", "database_older_since"),
    ]
    readonly_fields = ["pool", "promised"]
    exclude = ["pool_total", "pool_free", "pool_reserve", "pool_promised", "serial"]
    search_fields = ["name"]

    @admin.action(description="Their database was restored, and is right")
    def trust_database(self, request: HttpRequest, nodes: QuerySet[Node]) -> None:
        self.each(request, [node.pk for node in nodes], memory.trust)

    @admin.display(description="Pool of workspaces")
    def pool(self, row: Node) -> str:
        if row.pool_total is None or row.pool_free is None:
            return "none of its own"
        kept = f", {gib(row.pool_reserve)} of it in reserve" if row.pool_reserve else ""
        return f"{gib(row.pool_free)} of {gib(row.pool_total)} GiB free{kept}"

    @admin.display(description="Promised to workspaces")
    def promised(self, row: Node) -> str:
        times = overcommitment(row)
        if times is None or row.pool_promised is None:
            return "-"
        return f"{gib(row.pool_promised)} GiB, {times:.1f} times the pool"


def gib(number: int) -> str:
    return f"{number / GIBIBYTE:.1f}"


@admin.register(Block)
class BlockAdmin(ReadOnly):
    list_display = ["number", "node", "organisation"]
    list_select_related = ["organisation"]
    search_fields = ["organisation__name"]


@admin.register(Stray)
class StrayAdmin(Acting):
    """What is there and no row speaks of. Nothing of it is ever removed by itself."""

    list_display = [
        *("kind", "name", "agent", "organisation", "size", "address", "running", "state"),
        *("node", "first_seen_at", "last_seen_at", "message"),
    ]
    list_filter = ["state", "kind", "node"]
    search_fields = ["id", "name", "identity", "agent", "organisation"]
    ordering = ["ended_at", "agent", "kind"]
    actions = ["adopt", "ignore", "heed", "dry_run"]

    @admin.display(description="Size")
    def size(self, row: Stray) -> str:
        return "-" if row.bytes is None else f"{row.bytes / 1024**2:.1f} MiB"

    @admin.display(boolean=True)
    def running(self, row: Stray) -> bool:
        return row.running

    @admin.action(description="Adopt their agents, stopped, for the organisation of the label")
    def adopt(self, request: HttpRequest, strays: QuerySet[Stray]) -> None:
        agents = sorted({stray.agent for stray in strays if stray.agent})
        self.each(request, agents, adopt)

    @admin.action(description="Leave them alone: no plan lists them")
    def ignore(self, request: HttpRequest, strays: QuerySet[Stray]) -> None:
        found = strays.filter(state=State.FOUND)
        self.each(request, [stray.pk for stray in found], deciding.ignore)

    @admin.action(description="Ignore them no longer, or call off their removal")
    def heed(self, request: HttpRequest, strays: QuerySet[Stray]) -> None:
        found = strays.filter(state__in=deciding.HEEDABLE)
        self.each(request, [stray.pk for stray in found], deciding.heed)

    @admin.action(description="Dry run: a plan of all that may be removed now")
    def dry_run(self, request: HttpRequest, strays: QuerySet[Stray]) -> None:
        made = reaping.plan(operator(request))
        listed = f"Plan {made.pk} lists {len(made.items)}."
        self.message_user(request, f"{listed} Read it below Reap plans, and agree to it there.")


@admin.register(ReapPlan)
class ReapPlanAdmin(Acting):
    """What dry runs would remove. Made by `python -m django reap` or here; agreed to in the hour
    after it."""

    list_display = ["id", "node", "would_remove", "made_by", "made_at", "agreed_by", "agreed_at"]
    search_fields = ["id", "made_by"]
    ordering = ["-made_at"]
    actions = ["agree"]

    @admin.display(description="Would remove")
    def would_remove(self, row: ReapPlan) -> str:
        return "; ".join(f"{item['kind']} {item['name']}" for item in row.items) or "nothing"

    @admin.action(description="Remove what they list")
    def agree(self, request: HttpRequest, plans: QuerySet[ReapPlan]) -> None:
        self.each(request, [plan.pk for plan in plans], reaping.agree)
