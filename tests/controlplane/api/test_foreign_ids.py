"""Another organisation's ids answer like ids that do not exist, on every endpoint (T1, T2, T4)."""

import pytest

from controlplane.api.converters import NOUNS
from controlplane.ids import new_id
from controlplane.keys.actions import add_key
from tests.controlplane.looking import everything
from tests.controlplane.routes import operations

pytestmark = pytest.mark.django_db

# What each operation is asked, good enough to be done by whom it belongs to.
BODIES = {
    "PATCH /api/v1/orgs/{org}": {"name": "Taken over"},
    "POST /api/v1/orgs/{org}/agents": {"name": "spy", "runtime": "hermes"},
    "PATCH /api/v1/orgs/{org}/agents/{agt}": {"name": "spy"},
    "POST /api/v1/orgs/{org}/agents/{agt}/messages": {"text": "What do you know?"},
    "POST /api/v1/orgs/{org}/agents/{agt}/investigations": {"alert": {"title": "down"}},
    "POST /api/v1/orgs/{org}/agents/{agt}/restart": {},
    "POST /api/v1/orgs/{org}/agents/{agt}/restore": {},
    "POST /api/v1/orgs/{org}/agents/{agt}/drills": {"kind": "process"},
    "POST /api/v1/orgs/{org}/agents/{agt}/rollback": {"release": 1},
    "PATCH /api/v1/orgs/{org}/agents/{agt}/drill-plan": {"kind": "process", "every_days": 1},
    "POST /api/v1/orgs/{org}/agents/{agt}/exports": {},
    "POST /api/v1/orgs/{org}/agents/{agt}/scans": {},
    "PATCH /api/v1/orgs/{org}/agents/{agt}/snapshot-plan": {"keep_daily": 9},
    "POST /api/v1/orgs/{org}/agents/{agt}/snapshots": {},
    "POST /api/v1/orgs/{org}/agents/{agt}/snapshots/{snp}/fork": {"name": "twin"},
    "POST /api/v1/orgs/{org}/agents/{agt}/snapshots/{snp}/restore": {},
    "POST /api/v1/orgs/{org}/agents/{agt}/start": {},
    "POST /api/v1/orgs/{org}/agents/{agt}/stop": {},
    "POST /api/v1/orgs/{org}/agents/{agt}/upgrade": {},
    "POST /api/v1/orgs/{org}/imports": {},
    "POST /api/v1/orgs/{org}/imports/{imp}/agent": {"name": "spy", "runtime": "hermes"},
    "POST /api/v1/orgs/{org}/keys": {
        "name": "spy",
        "provider": "openai",
        "value": "sk-0123456789abcdef",
    },
    "POST /api/v1/orgs/{org}/keys/{key}/rotate": {"value": "sk-ant-0123456789abcdef"},
    "POST /api/v1/orgs/{org}/secrets": {"name": "SPY", "value": "x"},
    "POST /api/v1/orgs/{org}/secrets/{sec}/rotate": {"value": "x"},
    "POST /api/v1/orgs/{org}/tokens": {"name": "spy"},
    "POST /api/v1/orgs/{org}/trial-restores": {},
}
WITHOUT_ORGANISATION = {"GET /api/v1/orgs", "GET /api/v1/scan-key", "GET /api/v1/schema"}
BELOW = [found for found in operations() if str(found) not in WITHOUT_ORGANISATION]
DEEPER = [found for found in BELOW if len(found.nouns) > 1]


@pytest.fixture
def theirs(
    acme, agent, key, secret, scan, snapshot, restore, drill, trial, upgrade, export, upload
) -> dict[str, str]:
    """Acme's ids, which Charlie knows."""
    tok = acme.tokens.first().pk
    own = {"org": acme.pk, "agt": agent.pk, "key": key.pk, "sec": secret.pk, "tok": tok}
    return own | {
        "scn": scan.pk,
        "inv": "inv-1",
        "snp": snapshot.pk,
        "rst": restore.pk,
        "drl": drill.pk,
        "trl": trial.pk,
        "upg": upgrade.pk,
        "rel": "1",
        "exp": export.pk,
        "imp": upload.pk,
    }


@pytest.fixture
def nobodys() -> dict[str, str]:
    made = {noun: new_id(noun) for noun in NOUNS}
    return made | {"inv": "inv-2", "rel": "999"}


# What is asked in an address.
QUERIES = {"diff": "?against={snp}", "text": "?against={snp}&path=a.txt"}


def ask(api, operation, ids):
    path = operation.path.format(**ids)
    if query := QUERIES.get(path.rpartition("/")[2]):
        return api.get(path + query.format(**ids))
    return getattr(api, operation.method.lower())(path, BODIES.get(str(operation)), "json")


def same_404(one, other):
    bodies = [response.json() for response in (one, other)]
    assert [response.status_code for response in (one, other)] == [404, 404], bodies
    assert len({body.pop("request_id") for body in bodies}) == 2
    assert bodies[0] == bodies[1]
    assert dict(one.headers) | {"X-Request-Id": ""} == dict(other.headers) | {"X-Request-Id": ""}


def test_every_operation_that_writes_has_a_body_here():
    writes = {str(found) for found in BELOW if found.method in {"POST", "PATCH", "PUT"}}

    assert writes == BODIES.keys()
    assert len(BELOW) > 15


def test_every_operation_says_what_it_needs():
    for operation in BELOW:
        assert operation.method in operation.view.needs, operation


@pytest.mark.parametrize("operation", BELOW, ids=str)
def test_another_organisation_is_not_there(operation, alice_api, charlie_api, theirs, nobodys):
    before = everything()

    same_404(ask(charlie_api, operation, theirs), ask(charlie_api, operation, nobodys))
    assert everything() == before


@pytest.mark.parametrize("operation", DEEPER, ids=str)
def test_their_ids_below_ones_own_organisation_are_not_there(
    operation, alice_api, charlie_api, umbrella, theirs, nobodys
):
    before = everything()
    mine = {"org": umbrella.pk}

    same_404(
        ask(charlie_api, operation, theirs | mine), ask(charlie_api, operation, nobodys | mine)
    )
    assert everything() == before


@pytest.mark.parametrize("operation", BELOW, ids=str)
def test_without_a_token_nothing_is_there_either(operation, client, alice_api, theirs):
    before = everything()
    path = operation.path.format(**theirs)

    assert client.generic(operation.method, path).status_code == 401
    assert everything() == before


def test_a_token_lists_its_own_organisation_only(charlie_api, acme, umbrella):
    rows = charlie_api.get("/api/v1/orgs").json()["items"]

    assert [row["id"] for row in rows] == [umbrella.pk]


@pytest.mark.parametrize("noun", ["agents", "keys", "secrets", "tokens"])
def test_lists_hold_ones_own_only(charlie_api, alice_api, umbrella, theirs, noun):
    rows = charlie_api.get(f"/api/v1/orgs/{umbrella.pk}/{noun}").json()["items"]

    assert not {row["id"] for row in rows} & set(theirs.values())


def test_a_search_finds_nothing_of_theirs(charlie_api, umbrella, agent):
    for query in (agent.name, agent.pk):
        found = charlie_api.get(f"/api/v1/orgs/{umbrella.pk}/agents", {"q": query}).json()
        assert found == {"items": [], "next": None}


def test_an_agent_is_not_made_with_their_key(charlie_api, umbrella, key):
    before = everything()
    body = {"name": "spy", "runtime": "hermes", "key": key.pk}

    response = charlie_api.post(f"/api/v1/orgs/{umbrella.pk}/agents", body)

    unknown = charlie_api.post(f"/api/v1/orgs/{umbrella.pk}/agents", body | {"key": new_id("key")})
    assert response.json()["code"] == "unknown_key"
    assert response.json()["detail"] == unknown.json()["detail"]
    assert everything() == before


def test_an_agent_does_not_change_to_their_key(alice_api, acme, agent, as_charlie):
    stolen = add_key(as_charlie, name="theirs", provider="openai", value="sk-0123456789abcdef")
    before = everything()

    response = alice_api.patch(f"/api/v1/orgs/{acme.pk}/agents/{agent.pk}", {"key": stolen.pk})

    assert (response.status_code, response.json()["code"]) == (422, "unknown_key")
    assert everything() == before
