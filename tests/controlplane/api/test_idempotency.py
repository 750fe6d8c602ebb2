"""The same POST twice, at once or late: one effect and the same answer."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.api.idempotency import KEPT_FOR, forget_old
from controlplane.api.models import IdempotencyRecord
from controlplane.keys.models import Key
from controlplane.tenants.models import ApiToken
from tests.conftest import api_of
from tests.controlplane.conftest import VALUE
from tests.controlplane.looking import everything, is_stored

pytestmark = pytest.mark.django_db

ONCE = {"Idempotency-Key": "order-66"}
SCOUT = {"name": "scout", "runtime": "hermes"}


def create(api, acme, body=SCOUT, headers=ONCE):
    return api.post(f"/api/v1/orgs/{acme.pk}/agents", body, "json", headers=headers)


def test_a_retry_gets_the_first_answer_and_makes_nothing(alice_api, acme):
    first = create(alice_api, acme)
    before = everything()

    again = create(alice_api, acme)

    assert first.status_code == again.status_code == 202
    assert first.json() == again.json()
    assert everything() == before


def test_fields_in_another_order_are_the_same_request(alice_api, acme):
    first = create(alice_api, acme)

    assert create(alice_api, acme, dict(reversed(SCOUT.items()))).json() == first.json()


@pytest.mark.parametrize("change", [{"name": "other"}, {"size": "small"}])
def test_a_key_is_not_good_for_another_request(alice_api, acme, change):
    create(alice_api, acme)
    before = everything()

    response = create(alice_api, acme, SCOUT | change)

    assert (response.status_code, response.json()["code"]) == (422, "idempotency_key_reused")
    assert everything() == before


def test_a_key_is_not_good_for_another_address(alice_api, acme):
    agent = create(alice_api, acme).json()
    path = f"/api/v1/orgs/{acme.pk}/agents/{agent['id']}/stop"

    response = alice_api.post(path, {}, "json", headers=ONCE)

    assert response.json()["code"] == "idempotency_key_reused"
    assert Agent.objects.get().goal == "running"


def test_a_refusal_is_not_kept_so_that_it_can_be_put_right(alice_api, acme):
    type(acme).objects.update(agent_limit=0)
    assert create(alice_api, acme).json()["code"] == "agent_limit_reached"
    type(acme).objects.update(agent_limit=1)

    assert create(alice_api, acme).status_code == 202


def test_two_tokens_do_not_share_keys(alice_api, as_alice, acme, roomy):
    create(alice_api, acme)

    assert create(api_of(as_alice), acme, SCOUT | {"name": "other"}).status_code == 202
    assert Agent.objects.count() == 2


def test_the_same_restart_twice_restarts_once(alice_api, acme):
    agent = create(alice_api, acme, headers={}).json()
    path = f"/api/v1/orgs/{acme.pk}/agents/{agent['id']}/restart"

    for _ in range(3):
        assert alice_api.post(path, {}, "json", headers=ONCE).status_code == 202
    assert Agent.objects.get().restart_serial == 1


@pytest.mark.parametrize("key", ["", "a" * 129, "é", "a\tb", "\x7f"])
def test_an_odd_key_is_refused(alice_api, acme, key):
    response = create(alice_api, acme, headers={"Idempotency-Key": key})

    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "Idempotency-Key"
    assert not Agent.objects.exists()


def test_a_token_is_shown_once_even_to_a_retry(alice_api, acme):
    path = f"/api/v1/orgs/{acme.pk}/tokens"
    first = alice_api.post(path, {"name": "ci"}, "json", headers=ONCE).json()
    again = alice_api.post(path, {"name": "ci"}, "json", headers=ONCE).json()

    assert first["token"].startswith(first["prefix"])
    assert again == first | {"token": None}
    assert ApiToken.objects.filter(name="ci").count() == 1
    assert is_stored(first["id"]), "the search itself must be able to find something"
    assert is_stored(first["token"]) == []


def test_the_value_of_a_key_is_in_no_table(alice_api, acme):
    body = {"name": "main", "provider": "anthropic", "value": VALUE}
    path = f"/api/v1/orgs/{acme.pk}/keys"
    answers = [alice_api.post(path, body, "json", headers=ONCE) for _ in range(2)]

    assert answers[0].json() == answers[1].json()
    assert Key.objects.count() == 1
    assert VALUE not in answers[0].content.decode()
    assert is_stored(VALUE) == []
    assert is_stored(VALUE[:-4]) == []


def test_records_are_forgotten_after_a_day(alice_api, acme, roomy):
    create(alice_api, acme)
    IdempotencyRecord.objects.update(created_at=now() - KEPT_FOR - timedelta(seconds=1))

    assert create(alice_api, acme, SCOUT | {"name": "later"}).status_code == 202
    IdempotencyRecord.objects.update(created_at=now() - KEPT_FOR - timedelta(seconds=1))
    assert forget_old() == 1


@pytest.mark.django_db(transaction=True)
def test_twenty_at_once_make_one_agent(as_alice, acme, roomy):
    clients = [api_of(as_alice)] * 20
    path = f"/api/v1/orgs/{acme.pk}/agents"

    def send(api):
        try:
            return api.post(path, SCOUT, "json", headers=ONCE)
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(send, clients))

    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert Agent.objects.count() == 1
