"""Looking into snapshots through the API: what the node is asked, and who may ask."""

import pytest

from controlplane.agents.actions import create_agent
from controlplane.ids import snapshot_id
from controlplane.snapshots.models import Snapshot
from tests.controlplane.agents.gateways import FakeGateway, serving

pytestmark = pytest.mark.django_db(transaction=True)
TOLD = {"added": [], "changed": [], "removed": [], "touched": [], "truncated": False}


@pytest.fixture
def gateway(settings):
    fake = FakeGateway(says=[TOLD])
    with serving(fake) as settings.GATEWAY_URL:
        yield fake


@pytest.fixture
def older(snapshot):
    return copy_of(snapshot)


def copy_of(snapshot, **changes):
    fields = {"requested_by": "Alice", "release": 1, "disk_gib": 5, "on_node": True,
              "manifest_sha256": "b" * 64, "agent": snapshot.agent}  # fmt: skip
    return Snapshot.objects.create(**fields | changes)


@pytest.fixture
def url(snapshot) -> str:
    agent = snapshot.agent
    return f"/api/v1/orgs/{agent.organisation_id}/agents/{agent.pk}/snapshots/{snapshot.pk}"


def test_the_difference_is_asked_of_the_node(gateway, alice_api, url, snapshot, older):
    response = alice_api.get(f"{url}/diff", {"against": older.pk, "cursor": "2000"})

    assert (response.status_code, response.json()) == (200, TOLD)
    (asked,) = gateway.asked
    assert asked == (
        f"/gateway/agents/{snapshot.agent_id}/snapshots/{snapshot.pk}/diff"
        f"?against={older.pk}&cursor=2000&limit=2000"
    )


def test_a_path_is_handed_on_as_it_was_told(gateway, alice_api, url, older):
    alice_api.get(f"{url}/diff/text", {"against": older.pk, "path": "a&b/\\xff <i>"})
    alice_api.get(f"{url}/files", {"path": "../../etc"})

    assert gateway.asked[0].endswith("&path=a%26b%2F%5Cxff+%3Ci%3E")
    assert gateway.asked[1].endswith("/files?path=..%2F..%2Fetc&cursor=0")


@pytest.mark.parametrize("part", ["diff", "diff/text"])
def test_another_agents_snapshot_is_not_compared_with(
    gateway, alice_api, as_alice, url, snapshot, part
):
    """T4: also within the same organisation."""
    theirs = copy_of(snapshot, agent=create_agent(as_alice, name="other", runtime="hermes"))

    found = [
        alice_api.get(f"{url}/{part}", {"against": one}).json()
        for one in (theirs.pk, snapshot_id())
    ]

    assert [body.pop("request_id") != "" for body in found] == [True, True]
    assert found[0] == found[1]
    assert found[0]["status"] == 404
    assert gateway.asked == []


@pytest.mark.parametrize(
    ("part", "query", "field"),
    [
        ("diff", {}, "against"),
        ("diff", {"against": "snp_%00"}, "against"),
        ("diff/text", {"path": "a"}, "against"),
        ("files", {"cursor": "-1"}, "cursor"),
        ("files", {"path": "a\0b"}, "path"),
        ("files", {"path": "a" * 20_001}, "path"),
    ],
)
def test_bad_input_is_refused_before_the_node_is_asked(gateway, alice_api, url, part, query, field):
    response = alice_api.get(f"{url}/{part}", query)

    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == field
    assert gateway.asked == []
