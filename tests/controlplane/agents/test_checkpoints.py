"""Checkpoints through the API: what the gateway tells, and why where it cannot."""

import pytest

from tests.controlplane.agents.gateways import FakeGateway, serving

pytestmark = pytest.mark.django_db(transaction=True)
ROW = {"name": "counter", "saved_at": "2026-11-30T11:58:30.5Z", "age_s": 90, "sequence": 4,
       "bytes": 143, "steps_done": 2, "broken": False, "why": "", "put_aside": 0}  # fmt: skip


@pytest.fixture
def gateway(settings):
    fake = FakeGateway(says=[{"checkpoints": [ROW], "note": ""}])
    with serving(fake) as settings.GATEWAY_URL:
        yield fake


@pytest.fixture
def path(agent) -> str:
    return f"/api/v1/orgs/{agent.organisation_id}/agents/{agent.pk}/checkpoints"


def test_they_come_as_the_node_tells_them(gateway, alice_api, path, agent):
    response = alice_api.get(path)

    assert response.status_code == 200
    assert response.json() == {"checkpoints": [ROW], "note": ""}
    assert gateway.asked == [f"/gateway/agents/{agent.pk}/checkpoints"]


def test_a_viewer_may_look(gateway, bob_api, path):
    assert bob_api.get(path).status_code == 200


def test_a_stranger_finds_nothing_and_no_node_is_asked(gateway, charlie_api, path):
    assert charlie_api.get(path).status_code == 404
    assert gateway.asked == []


def test_a_workspace_that_is_not_mounted_is_a_problem_with_a_sentence(gateway, alice_api, path):
    said = "scout is stopped and its workspace is not mounted."
    gateway.status, gateway.says = 409, [{"code": "workspace_not_mounted", "message": said}]

    problem = alice_api.get(path).json()

    assert (problem["status"], problem["code"]) == (409, "workspace_not_mounted")
    assert problem["detail"] == said
