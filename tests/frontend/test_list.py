import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.agents.actions import create_agent
from controlplane.agents.models import Agent
from controlplane.tenants.access import Access
from controlplane.tenants.models import Organisation
from frontend.listing import Wish, sentence
from frontend.live import version
from frontend.views.agents import ListParts


def herd(access: Access, number: int) -> None:
    Organisation.objects.update(agent_limit=100, memory_mb_limit=10**6, disk_gib_limit=10**4)
    for at in range(number):
        create_agent(access, name=f"agent-{at}", runtime="hermes")


def queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as found:
        assert client.get(address).status_code == 200
    return len(found)


def test_the_number_of_queries_does_not_grow(alice_web: Client, as_alice: Access) -> None:
    herd(as_alice, 3)
    few = queries(alice_web, "/acme/agents")
    for at in range(3, 30):
        create_agent(as_alice, name=f"agent-{at}", runtime="hermes")

    assert queries(alice_web, "/acme/agents") == few
    assert few <= 12


def test_an_empty_organisation_is_taught(alice_web: Client) -> None:
    page = alice_web.get("/acme/agents").content.decode()

    assert "Give your first agent a home" in page
    assert "/acme/agents/new" in page


def test_the_filter_finds_by_name_and_by_reason(alice_web: Client, as_alice: Access) -> None:
    herd(as_alice, 2)
    Agent.objects.filter(name="agent-1").update(message="The vault is sealed.")

    page = alice_web.get("/acme/agents?q=VAULT").content.decode()

    assert "agent-1" in page
    assert "agent-0" not in page
    assert "1 of 2" in page


def test_htmx_gets_the_list_alone(alice_web: Client, agent: Agent) -> None:
    headers = {"HX-Request": "true", "HX-Target": "agents"}
    part = alice_web.get("/acme/agents?state=busy", headers=headers)

    assert "<html" not in part.content.decode()
    assert 'id="agents-count"' in part.content.decode()
    assert "HX-Request" in part["Vary"]


def test_history_gets_the_whole_page(alice_web: Client, agent: Agent) -> None:
    headers = {
        "HX-Request": "true",
        "HX-Target": "agents",
        "HX-History-Restore-Request": "true",
    }
    assert "<html" in alice_web.get("/acme/agents", headers=headers).content.decode()


@pytest.mark.parametrize(
    "query", ["page=0", "page=-1", "page=9999999", "page=x", "state=%00", "q=%00", "runtime=%F0%28"]
)
def test_nonsense_in_the_address_is_no_error(alice_web: Client, agent: Agent, query: str) -> None:
    assert alice_web.get(f"/acme/agents?{query}").status_code == 200


def test_what_needs_somebody_comes_first(alice_web: Client, as_alice: Access) -> None:
    herd(as_alice, 3)
    Agent.objects.update(status="running", observed_generation=1)
    Agent.objects.filter(name="agent-2").update(status="failed")

    page = alice_web.get("/acme/agents").content.decode()

    assert page.index("agent-2") < page.index("agent-0")
    assert "Start again" in page


def test_text_from_elsewhere_is_shown_as_text(alice_web: Client, agent: Agent) -> None:
    Agent.objects.update(message="<script>alert(1)</script>")
    Organisation.objects.update(name="<img src=x onerror=alert(2)>")

    page = alice_web.get("/acme/agents").content.decode()

    assert "<script>alert" not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize(
    ("by_status", "said"),
    [
        ({"running": 1}, "It needs nothing from you."),
        ({"running": 8, "stopped": 1}, "All nine need nothing from you."),
        (
            {"running": 5, "failed": 3, "unknown": 1},
            "Five of nine need nothing from you. Three wait for a decision, one cannot be seen.",
        ),
        ({"failed": 1}, "One waits for a decision."),
        (
            {"running": 1, "degraded": 11},
            "One of 12 needs nothing from you. 11 wait for a decision.",
        ),
    ],
)
def test_the_list_in_a_sentence(by_status: dict[str, int], said: str) -> None:
    assert sentence(by_status) == said


def test_only_the_changed_row_is_sent(as_alice: Access) -> None:
    herd(as_alice, 2)
    parts = ListParts(as_alice, Wish())
    before = parts.look()
    Agent.objects.filter(name="agent-1").update(status="running", observed_generation=1)
    now = parts.look()
    changed = {name for name, value in now.items() if before[name] != value}
    drawn = parts.draw(changed)

    changed_agent = Agent.objects.get(name="agent-1")
    rows = {name for name in drawn if name.startswith("agent:")}
    assert rows == {f"agent:{changed_agent.pk}"}
    assert "Running" in drawn[f"agent:{changed_agent.pk}"]


def test_a_page_that_is_up_to_date_says_so(alice_web: Client, as_alice: Access) -> None:
    herd(as_alice, 2)

    page = alice_web.get("/acme/agents").content.decode()

    assert f"shown={version(ListParts(as_alice, Wish()).look())}" in page
