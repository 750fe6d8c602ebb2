"""No body and no header leads to a 5xx, and what is refused changes no row of any table."""

import json
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.controlplane.looking import everything
from tests.controlplane.routes import operations

pytestmark = pytest.mark.django_db

JSON = "application/json"
WRITES = [found for found in operations() if found.method in {"POST", "PATCH"}]
FIELDS = ["name", "runtime", "key", "model", "size", "disk_gib", "egress", "provider", "value",
          "base_url", "scopes", "expires_at", "text", "conversation", "status", "org", "path",
          "snapshot"]  # fmt: skip
LIKELY = ["scout", "hermes", "small", "open", "none", "custom", "sk-ant-0123456789ab",
          "https://host/v1", "agents:read", "9999-12-31T23:59:59-23:59",
          "0001-01-01T00:00:00+23:59", "2026-02-30", "\x00", "", "   ",
          "'; DROP TABLE agents_agent; --", "🐓" * 70]  # fmt: skip

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=100)
    | st.sampled_from(LIKELY),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3)
    ),
    max_leaves=8,
)
bodies = st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), anything, max_size=6)
# One byte each, as a server decodes them; line ends never get through one.
odd = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=150)
quiet = settings(
    deadline=None,
    max_examples=20,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def gateway_away(settings: Any) -> None:
    settings.GATEWAY_URL = "http://127.0.0.1:1"


@pytest.fixture
def ids(acme, agent, key, secret, restore, upload) -> dict[str, str]:
    token = acme.tokens.first()
    own = {"org": acme.pk, "agt": agent.pk, "key": key.pk, "sec": secret.pk}
    return own | {"tok": token.pk if token else "", "snp": restore.snapshot_id, "imp": upload.pk}


@pytest.mark.parametrize("operation", WRITES, ids=str)
def test_no_body_breaks_it(operation, alice_api, ids, gateway_away):
    @quiet
    @given(body=bodies)
    def ask(body: dict[str, Any]) -> None:
        text = json.dumps(body)
        path = operation.path.format(**ids)
        stands_or_falls(lambda: alice_api.generic(operation.method, path, text, JSON))

    ask()


@quiet
@given(body=st.binary(max_size=60))
def test_no_bytes_break_it(body, alice_api, ids):
    path = "/api/v1/orgs/{org}/agents".format(**ids)
    stands_or_falls(lambda: alice_api.generic("POST", path, body, JSON))


HEADERS = ["If-Match", "Idempotency-Key", "Authorization", "Last-Event-ID",
           "Accept-Language", "X-Forwarded-For", "X-Request-Id", "Cookie", "Range"]  # fmt: skip
ODDITIES = ["", ",", ";" * 99, "*", "a" * 20_000]


@quiet
@given(headers=st.dictionaries(st.sampled_from(HEADERS), odd | st.sampled_from(ODDITIES)))
def test_no_header_breaks_it(headers, alice_api, ids):
    path = "/api/v1/orgs/{org}/agents/{agt}/stop".format(**ids)
    stands_or_falls(lambda: alice_api.post(path, {}, "json", headers=headers))


@quiet
@given(tag=odd | st.sampled_from(ODDITIES))
def test_no_etag_breaks_it(tag, alice_api, ids):
    path = "/api/v1/orgs/{org}/agents/{agt}".format(**ids)
    stands_or_falls(lambda: alice_api.patch(path, {}, "json", headers={"If-Match": tag}))


def stands_or_falls(ask) -> None:
    """Done, or refused as a problem without a trace; undone afterwards."""
    before = everything()
    with transaction.atomic():
        response = ask()
        if response.status_code >= 400:
            assert everything() == before
            assert response["Content-Type"] == "application/problem+json"
        transaction.set_rollback(True)
    # 502 and 503 speak of a part that is away: here the gateway, on purpose.
    assert response.status_code < 500 or response.json()["code"] == "gateway_unavailable"
