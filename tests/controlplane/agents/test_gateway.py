"""What the gateway says about itself and its agents reaches the caller as it was said."""

import pytest

from tests.controlplane.agents.gateways import FakeGateway, serving

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def gateway(settings):
    fake = FakeGateway()
    with serving(fake) as settings.GATEWAY_URL:
        yield fake


@pytest.fixture
def path(agent):
    return f"/api/v1/orgs/{agent.organisation_id}/agents/{agent.pk}"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (429, "too_many_followers"),
        (502, "agent_unreachable"),
        (502, "gateway_failed"),
        (503, "engine_silent"),
    ],
)
@pytest.mark.parametrize("name", ["messages", "conversations", "logs"])
def test_its_status_code_and_sentence_stay(gateway, alice_api, path, status, code, name):
    gateway.status, gateway.says = status, [{"code": code, "message": "It says why."}]

    answer = alice_api.get(f"{path}/{name}")

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["detail"] == "It says why."


def test_a_message_the_gateway_could_not_hand_on_may_be_said_again(gateway, alice_api, path):
    said = {"text": "hello"}
    once = {"Idempotency-Key": "once"}
    gateway.status, gateway.says = 502, [{"code": "gateway_failed", "message": "It says why."}]
    first = alice_api.post(f"{path}/messages", said, "json", headers=once)
    gateway.status, gateway.says = 200, FakeGateway().says

    again = alice_api.post(f"{path}/messages", said, "json", headers=once)

    assert (first.status_code, first.json()["code"]) == (502, "gateway_failed")
    assert again.json()["text"] == "Hello"


def test_a_line_that_is_too_long_is_an_answer_cut_off(gateway, alice_api, path):
    gateway.says = [{"at": "x", "text": "x" * (9 * 1024 * 1024)}]

    answer = alice_api.get(f"{path}/logs")

    assert (answer.status_code, answer.json()["code"]) == (503, "gateway_unavailable")
