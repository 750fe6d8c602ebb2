"""Lists: pages without gap or repeat while rows come and go, at a price that does not grow."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from controlplane.agents.actions import create_agent, delete_agent
from controlplane.agents.models import Agent, Release

pytestmark = pytest.mark.django_db


def herd(access, number, start=0):
    """Agents with a release each, quickly; returns their ids, oldest first."""
    agents = Agent.objects.bulk_create(
        Agent(
            organisation=access.organisation,
            name=f"agent-{at}",
            runtime="hermes",
            node="node-1",
        )
        for at in range(start, start + number)
    )
    sizes = {"memory_mb": 512, "cpu_millis": 1000, "disk_gib": 5, "egress": "open"}
    releases = Release.objects.bulk_create(
        Release(agent=agent, number=1, image="roost/hermes:1", author_label="Alice", **sizes)
        for agent in agents
    )
    for agent, release in zip(agents, releases, strict=True):
        agent.release = release
    Agent.objects.bulk_update(agents, ["release"])
    return [agent.pk for agent in agents]


def walk(api, acme, limit, between=lambda page: None, query=""):
    """The ids on all pages; `between` is called with the number of each page that was read."""
    address, found, pages = f"/api/v1/orgs/{acme.pk}/agents?limit={limit}{query}", [], 0
    while address:
        page = api.get(address).json()
        found += [row["id"] for row in page["items"]]
        address, pages = page["next"], pages + 1
        between(pages)
    return found


def test_pages_hold_every_agent_once(alice_api, as_alice, acme):
    everyone = herd(as_alice, 230)

    assert sorted(walk(alice_api, acme, 50)) == sorted(everyone)


def test_agents_of_one_moment_are_paged_too(alice_api, as_alice, acme):
    everyone = herd(as_alice, 60)
    Agent.objects.update(created_at=now())

    assert sorted(walk(alice_api, acme, 7)) == sorted(everyone)


def test_agents_made_meanwhile_repeat_nothing(alice_api, as_alice, acme):
    everyone = herd(as_alice, 230)

    found = walk(alice_api, acme, 50, lambda page: herd(as_alice, 10, start=1000 * page))

    assert sorted(found) == sorted(everyone)


def test_agents_deleted_meanwhile_hide_nobody(alice_api, as_alice, acme):
    everyone = herd(as_alice, 230)
    leave = [pk for at, pk in enumerate(reversed(everyone)) if at % 10 in {0, 9}]

    def delete_some(page):
        gone = leave[(page - 1) * 10 : page * 10]  # also the row that a cursor stands on
        Agent.objects.filter(pk__in=gone).update(goal="deleted")

    found = walk(alice_api, acme, 50, delete_some)

    assert len(found) == len(set(found))
    assert set(everyone) - set(leave) <= set(found)


def test_the_row_a_cursor_stands_on_may_go(alice_api, as_alice, acme):
    everyone = herd(as_alice, 6)[::-1]
    first = alice_api.get(f"/api/v1/orgs/{acme.pk}/agents?limit=3").json()
    Agent.objects.filter(pk=first["items"][-1]["id"]).update(goal="deleted")

    rest = alice_api.get(first["next"]).json()

    assert [row["id"] for row in rest["items"]] == everyone[3:]
    assert rest["next"] is None


def test_the_newest_comes_first(alice_api, as_alice, acme):
    made = [create_agent(as_alice, name=name, runtime="hermes").pk for name in ("a", "b", "c")]

    assert walk(alice_api, acme, 2) == made[::-1]


def test_a_page_costs_the_same_among_fifty_and_five_hundred(
    alice_api, as_alice, acme, django_assert_num_queries
):
    herd(as_alice, 50)
    path = f"/api/v1/orgs/{acme.pk}/agents?limit=50"
    alice_api.get(path)  # the first use of a token is noted
    with CaptureQueriesContext(connection) as few:
        assert len(alice_api.get(path).json()["items"]) == 50
    herd(as_alice, 450, start=50)

    with django_assert_num_queries(len(few)):
        assert len(alice_api.get(path).json()["items"]) == 50
    assert len(few) <= 5


def test_a_page_deep_inside_costs_what_the_first_costs(
    alice_api, as_alice, acme, django_assert_num_queries
):
    herd(as_alice, 150)
    path = f"/api/v1/orgs/{acme.pk}/agents"
    second = alice_api.get(alice_api.get(path).json()["next"]).json()
    with CaptureQueriesContext(connection) as first:
        alice_api.get(path)

    with django_assert_num_queries(len(first)):
        assert len(alice_api.get(second["next"]).json()["items"]) == 50


def test_a_limit_is_kept_through_the_pages(alice_api, as_alice, acme):
    herd(as_alice, 5)

    page = alice_api.get(f"/api/v1/orgs/{acme.pk}/agents?limit=2&state=busy").json()

    assert len(page["items"]) == 2
    assert "limit=2" in page["next"]
    assert "state=busy" in page["next"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("q=agent-1", ["agent-1"]),
        ("q=AGENT-1", ["agent-1"]),
        ("q=sealed", ["agent-2"]),
        ("q=%25", []),
        ("q=_", []),
        ("q=%27%3B--", []),
        ("state=ok", ["agent-0"]),
        ("state=need", ["agent-2"]),
        ("state=busy", ["agent-1"]),
        ("state=idle", []),
        ("state=nonsense", []),
        ("runtime=hermes", ["agent-2", "agent-1", "agent-0"]),
        ("runtime=openclaw", []),
        ("state=need&q=agent-1", []),
    ],
)
def test_filters_find_what_they_say(alice_api, as_alice, acme, query, names):
    herd(as_alice, 3)
    Agent.objects.filter(name="agent-0").update(status="running")
    Agent.objects.filter(name="agent-2").update(status="waiting", message="The vault is sealed.")

    page = alice_api.get(f"/api/v1/orgs/{acme.pk}/agents?{query}").json()

    assert [row["name"] for row in page["items"]] == names


def test_an_id_finds_its_agent(alice_api, acme, agent):
    page = alice_api.get(f"/api/v1/orgs/{acme.pk}/agents", {"q": agent.pk}).json()

    assert [row["id"] for row in page["items"]] == [agent.pk]


def test_deleted_agents_are_not_listed(alice_api, as_alice, acme, agent):
    delete_agent(as_alice, agent)

    assert walk(alice_api, acme, 50) == []
    assert alice_api.get(f"/api/v1/orgs/{acme.pk}/agents/{agent.pk}").status_code == 404


def test_the_timeline_is_paged_newest_first(alice_api, acme, agent):
    for at in range(5):
        agent.events.create(kind="note", title=f"note {at}")
    address, titles = f"/api/v1/orgs/{acme.pk}/agents/{agent.pk}/events?limit=2", []
    while address:
        page = alice_api.get(address).json()
        titles += [row["title"] for row in page["items"]]
        address = page["next"]

    assert titles == [f"note {at}" for at in reversed(range(5))] + ["scout was created"]
