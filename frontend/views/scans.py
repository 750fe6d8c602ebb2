"""Looking for an agent's credentials where they must not be: start, watch, read, download."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse

from controlplane.agents.models import Agent
from controlplane.agents.queries import get_agent
from controlplane.errors import NotFound, Refusal
from controlplane.jobs.models import JobStatus
from controlplane.scans.actions import start_scan
from controlplane.scans.models import Scan
from controlplane.scans.queries import get_scan, scans_of
from controlplane.tenants.access import Access
from frontend.looks import Look, look_of
from frontend.pages import go, is_fragment, page, show
from frontend.silence import silences_of
from frontend.verdicts import status_of

SHOWN = 10  # of the history
FOUND = Look("bad", "failed", "Found")
NOTHING = Look("ok", "running", "Nothing found")
LOOKS = {
    JobStatus.PENDING: look_of("pending"),
    JobStatus.RUNNING: Look("busy", "starting", "Looking", spins=True),
    JobStatus.FAILED: Look("warn", "degraded", "Not done"),
}


@page("agents:read")
def scans(request: HttpRequest, access: Access, name: str) -> HttpResponse:
    """The newest, and those before it; a POST starts one."""
    agent = get_agent(access, name=name)
    if request.method == "POST":
        return _start(request, access, agent)
    newest = scans_of(access, agent).first()
    return _show(request, access, agent, newest)


@page("agents:read")
def scan(request: HttpRequest, access: Access, name: str, scan: str) -> HttpResponse:
    agent = get_agent(access, name=name)
    return _show(request, access, agent, get_scan(access, agent, scan))


@page("agents:read")
def download(request: HttpRequest, access: Access, name: str, scan: str) -> HttpResponse:
    """The signed report as it is checked by `roost scan --verify`."""
    found = get_scan(access, get_agent(access, name=name), scan)
    if found.report is None:
        raise NotFound("This report")
    response = JsonResponse(found.report, json_dumps_params={"indent": 2})
    response["Content-Disposition"] = f'attachment; filename="{found.pk}.json"'
    response["Cache-Control"] = "no-store"
    return response


def _start(request: HttpRequest, access: Access, agent: Agent) -> HttpResponse:
    access.require("agents:write")
    try:
        started = start_scan(access, agent)
    except Refusal as error:
        messages.error(request, str(error))
        return go(request, reverse("frontend:scans", args=[access.organisation.slug, agent.name]))
    return go(request, _address(access, agent, started))


def _show(request: HttpRequest, access: Access, agent: Agent, shown: Scan | None) -> HttpResponse:
    history = list(scans_of(access, agent)[: SHOWN + 1])
    for one in history:
        one.look = scan_look(one)  # type: ignore[attr-defined]
    context: dict[str, Any] = {
        "section": "agents",
        "tab": "scans",
        "agent": agent,
        "status": status_of(agent),
        "silences": silences_of([agent]),
        "scan": shown,
        "look": scan_look(shown) if shown else None,
        "report": shown.report["report"] if shown and shown.report else None,
        "signature": shown.report["signature"] if shown and shown.report else None,
        "history": history[:SHOWN],
        "newest": history[0] if history else None,
        "may_write": access.may("agents:write"),
    }
    part = "_scan" if is_fragment(request) else "index"
    return show(request, access, f"frontend/agent/scan/{part}.html", context)


def scan_look(one: Scan) -> Look:
    if one.status == JobStatus.DONE:
        return FOUND if one.findings else NOTHING
    return LOOKS[JobStatus(one.status)]


def _address(access: Access, agent: Agent, one: Scan) -> str:
    return reverse("frontend:scan", args=[access.organisation.slug, agent.name, one.pk])
