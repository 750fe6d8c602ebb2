"""Trial restores of an organisation: what came of them, and one now."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from controlplane.errors import Refusal
from controlplane.tenants.access import Access
from controlplane.trials.actions import start_trial, triable
from controlplane.trials.models import TrialPlan
from controlplane.trials.plans import rule
from controlplane.trials.queries import trials_of
from frontend.pages import go, is_fragment, page, show

PAGE = 20


@page("agents:read")
def trials(request: HttpRequest, access: Access) -> HttpResponse:
    """All of them, newest first; a POST starts one."""
    if request.method == "POST":
        return _start(request, access)
    rows = Paginator(trials_of(access), PAGE).get_page(request.GET.get("page"))
    plan = TrialPlan.objects.filter(organisation=access.organisation).first() if rule() else None
    context = {
        "section": "agents",
        "rows": rows,
        "busy": any(one.under_way for one in rows),
        "plan": plan,
        "possible": bool(triable(access.organisation)),
        "may_write": access.may("agents:write"),
    }
    part = "_trials" if is_fragment(request) else "index"
    return show(request, access, f"frontend/trials/{part}.html", context)


def _start(request: HttpRequest, access: Access) -> HttpResponse:
    access.require("agents:write")
    try:
        start_trial(access)
        messages.success(request, "A snapshot is being brought back to be compared. It goes on.")
    except Refusal as error:
        messages.error(request, str(error))
    return go(request, reverse("frontend:trials", args=[access.organisation.slug]))
