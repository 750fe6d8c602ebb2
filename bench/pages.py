"""A page of 50 agents costs the same whether there are 50 or 5,000: queries, and time beside it."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from bench import crowd, results
from bench.results import Figure, Result
from controlplane.agents.lifecycle import Status
from controlplane.agents.models import Agent, Release
from controlplane.tenants.access import Access
from controlplane.tenants.actions import issue_token
from runtimes.catalog import CATALOG

FEW, MANY = 50, 5000
TIMES = 21
HOST = "127.0.0.1"

Ask = Callable[[], Any]  # a response


def measure() -> Result:
    before = results.load()
    few, many = _filled("few", FEW), _filled("many", MANY)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as the database does by itself within a minute
    figures = []
    for name, page in {"API": _api, "dashboard": _dashboard}.items():
        ask_few, ask_many = page(few), page(many)
        queries = _queries(ask_few)
        figures += [
            Figure(f"{name}: queries at {MANY} agents", _queries(ask_many), queries),
            Figure(f"{name}: queries at {FEW} agents", queries),
            Figure(f"{name}: time at {MANY} / at {FEW}", _ratio(ask_few, ask_many)),
        ]
    return Result("pages", figures, (before, results.load()))


def _filled(slug: str, count: int) -> Access:
    """Rows only: no worker has to look at them for a page to show them."""
    access, runtime = crowd.tenant(slug, count), CATALOG["hermes"]
    common = {"organisation": access.organisation, "runtime": "hermes", "node": "node-1"}
    agents = [
        Agent(**common, name=f"a{n}", status=Status.RUNNING, observed_generation=1)
        for n in range(count)
    ]
    Agent.objects.bulk_create(agents)
    releases = [
        Release(
            agent=agent,
            number=1,
            image="roost/hermes",
            runtime_version=runtime.version,
            memory_mb=512,
            cpu_millis=1000,
            disk_gib=1,
            egress="none",
        )
        for agent in agents
    ]
    Release.objects.bulk_create(releases)
    for agent, release in zip(agents, releases, strict=True):
        agent.release = release
    Agent.objects.bulk_update(agents, ["release"], batch_size=1000)
    return access


def _api(access: Access) -> Ask:
    _, token = issue_token(access, name="bench")
    client = Client(headers={"Host": HOST, "Authorization": f"Bearer {token}"})
    address = f"/api/v1/orgs/{access.organisation.pk}/agents?limit=50"
    return lambda: client.get(address)


def _dashboard(access: Access) -> Ask:
    client = Client(headers={"Host": HOST})
    client.force_login(access.user, "django.contrib.auth.backends.ModelBackend")
    address = reverse("frontend:agents", args=[access.organisation.slug])
    return lambda: client.get(address)


def _queries(ask: Ask) -> int:
    ask()  # the first request notes when a token was used, and loads templates
    with CaptureQueriesContext(connection) as captured:
        answer = ask()
    assert answer.status_code == 200
    # All fifty are on the page.
    assert answer.content.count(b"agt_") >= FEW or answer.content.count(b"/agents/a") >= FEW
    return len(captured)


def _ratio(few: Ask, many: Ask) -> float:
    return median(_took(many) / _took(few) for _ in range(TIMES))


def _took(ask: Ask) -> float:
    begun = time.perf_counter()
    ask()
    return time.perf_counter() - begun
