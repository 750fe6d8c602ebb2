"""Who may do what: one table over the whole API, for roles and for scopes."""

import pytest
from django.db.models import F
from django.utils.timezone import now

from controlplane.agents.actions import update_agent
from controlplane.agents.models import Agent
from controlplane.tenants.access import of_member
from controlplane.tenants.models import Membership, Role
from controlplane.tenants.permissions import scopes_of
from tests.conftest import api_of, person
from tests.controlplane.conftest import token_api
from tests.controlplane.looking import everything
from tests.controlplane.routes import operations

pytestmark = pytest.mark.django_db

OK, ACCEPTED, MADE, GONE, NO = 200, 202, 201, 204, 403
AGENT = "/api/v1/orgs/{org}/agents/{agt}"
KEY = "/api/v1/orgs/{org}/keys/{key}"
SECRET = "/api/v1/orgs/{org}/secrets/{sec}"
TOKEN = "/api/v1/orgs/{org}/tokens/{tok}"
IMPORT = "/api/v1/orgs/{org}/imports/{imp}"
NEW_KEY = {"name": "second", "provider": "openai", "value": "sk-0123456789abcdef"}
THERE = 409  # let in, and it is not deleted
AWAY = 503  # let in, and the gateway is away

REFUSALS = {NO: "forbidden", THERE: "agent_not_deleted", AWAY: "gateway_unavailable"}

TABLE = [  # operation, body, (owner, admin, developer, viewer)
    ("GET /api/v1/orgs", None, (OK, OK, OK, OK)),
    ("GET /api/v1/schema", None, (OK, OK, OK, OK)),
    ("GET /api/v1/scan-key", None, (OK, OK, OK, OK)),
    ("GET /api/v1/orgs/{org}", None, (OK, OK, OK, OK)),
    ("PATCH /api/v1/orgs/{org}", {"name": "Acme 2"}, (OK, OK, NO, NO)),
    ("GET /api/v1/orgs/{org}/agents", None, (OK, OK, OK, OK)),
    ("POST /api/v1/orgs/{org}/agents", {"name": "b", "runtime": "hermes"},
     (ACCEPTED, ACCEPTED, ACCEPTED, NO)),
    (f"GET {AGENT}", None, (OK, OK, OK, OK)),
    (f"PATCH {AGENT}", {"name": "renamed"}, (OK, OK, OK, NO)),
    (f"DELETE {AGENT}", None, (ACCEPTED, ACCEPTED, ACCEPTED, NO)),
    (f"POST {AGENT}/start", {}, (ACCEPTED, ACCEPTED, ACCEPTED, NO)),
    (f"POST {AGENT}/stop", {}, (ACCEPTED, ACCEPTED, ACCEPTED, NO)),
    (f"POST {AGENT}/restart", {}, (ACCEPTED, ACCEPTED, ACCEPTED, NO)),
    (f"POST {AGENT}/restore", {}, (THERE, THERE, THERE, NO)),
    (f"GET {AGENT}/disk", None, (OK, OK, OK, OK)),
    (f"GET {AGENT}/events", None, (OK, OK, OK, OK)),
    (f"GET {AGENT}/events/stream", None, (OK, OK, OK, OK)),
    (f"GET {AGENT}/scans", None, (OK, OK, OK, OK)),
    (f"POST {AGENT}/scans", {}, (ACCEPTED, ACCEPTED, ACCEPTED, NO)),
    (f"GET {AGENT}/scans/{{scn}}", None, (OK, OK, OK, OK)),
    (f"GET {AGENT}/snapshots", None, (OK, OK, OK, OK)),
    (f"POST {AGENT}/snapshots", {}, (ACCEPTED, ACCEPTED, ACCEPTED, NO)),
    (f"GET {AGENT}/snapshots/{{snp}}", None, (OK, OK, OK, OK)),
    (f"DELETE {AGENT}/snapshots/{{snp}}", None, (GONE, GONE, GONE, NO)),
    (f"POST {AGENT}/snapshots/{{snp}}/restore", {}, (ACCEPTED, ACCEPTED, ACCEPTED, NO)),
    (f"POST {AGENT}/snapshots/{{snp}}/fork", {"name": "twin"}, (ACCEPTED, ACCEPTED, ACCEPTED, NO)),
    (f"GET {AGENT}/snapshot-plan", None, (OK, OK, OK, OK)),
    (f"PATCH {AGENT}/snapshot-plan", {"keep_daily": 9}, (OK, OK, OK, NO)),
    (f"GET {AGENT}/snapshots/{{snp}}/files", None, (AWAY, AWAY, AWAY, AWAY)),
    (f"GET {AGENT}/snapshots/{{snp}}/diff", {"against": "{snp}"}, (AWAY, AWAY, AWAY, AWAY)),
    (f"GET {AGENT}/snapshots/{{snp}}/diff/text", {"against": "{snp}"}, (AWAY, AWAY, AWAY, AWAY)),
    (f"GET {AGENT}/restores", None, (OK, OK, OK, OK)),
    (f"GET {AGENT}/restores/{{rst}}", None, (OK, OK, OK, OK)),
    (f"GET {AGENT}/drills", None, (OK, OK, OK, OK)),
    (f"POST {AGENT}/drills", {"kind": "process"}, (ACCEPTED, ACCEPTED, ACCEPTED, NO)),
    (f"GET {AGENT}/drills/{{drl}}", None, (OK, OK, OK, OK)),
    (f"GET {AGENT}/drill-plan", None, (OK, OK, OK, OK)),
    (f"GET {AGENT}/releases", None, (OK, OK, OK, OK)),
    (f"GET {AGENT}/releases/{{rel}}", None, (OK, OK, OK, OK)),
    (f"POST {AGENT}/upgrade", {}, (ACCEPTED, ACCEPTED, ACCEPTED, NO)),
    (f"POST {AGENT}/rollback", {"release": 1}, (ACCEPTED, ACCEPTED, ACCEPTED, NO)),
    (f"GET {AGENT}/upgrades", None, (OK, OK, OK, OK)),
    (f"GET {AGENT}/upgrades/{{upg}}", None, (OK, OK, OK, OK)),
    (f"PATCH {AGENT}/drill-plan", {"every_days": 1}, (OK, OK, OK, NO)),
    (f"GET {AGENT}/exports", None, (OK, OK, OK, OK)),
    (f"POST {AGENT}/exports", {}, (ACCEPTED, ACCEPTED, ACCEPTED, NO)),
    (f"GET {AGENT}/exports/{{exp}}", None, (AWAY, AWAY, AWAY, OK)),
    ("GET /api/v1/orgs/{org}/imports", None, (OK, OK, OK, OK)),
    ("POST /api/v1/orgs/{org}/imports", {}, (MADE, MADE, MADE, NO)),
    (f"GET {IMPORT}", None, (AWAY, AWAY, AWAY, OK)),
    (f"POST {IMPORT}/agent", {"name": "b", "runtime": "hermes"}, (AWAY, AWAY, AWAY, NO)),
    (f"GET {AGENT}/messages", None, (AWAY, AWAY, AWAY, AWAY)),
    (f"POST {AGENT}/messages", {"text": "hello"}, (AWAY, AWAY, AWAY, NO)),
    (f"GET {AGENT}/conversations", None, (AWAY, AWAY, AWAY, AWAY)),
    (f"GET {AGENT}/investigations", None, (AWAY, AWAY, AWAY, AWAY)),
    (f"POST {AGENT}/investigations", {"alert": {"title": "down"}}, (AWAY, AWAY, AWAY, NO)),
    (f"GET {AGENT}/investigations/{{inv}}", None, (AWAY, AWAY, AWAY, AWAY)),
    (f"GET {AGENT}/logs", None, (AWAY, AWAY, AWAY, AWAY)),
    (f"GET {AGENT}/checkpoints", None, (AWAY, AWAY, AWAY, AWAY)),
    ("GET /api/v1/orgs/{org}/keys", None, (OK, OK, OK, OK)),
    ("POST /api/v1/orgs/{org}/keys", NEW_KEY, (MADE, MADE, MADE, NO)),
    (f"GET {KEY}", None, (OK, OK, OK, OK)),
    (f"DELETE {KEY}", None, (OK, OK, OK, NO)),
    (f"GET {KEY}/agents", None, (OK, OK, OK, OK)),
    (f"POST {KEY}/rotate", {"value": "sk-ant-0123456789abcdef"}, (OK, OK, OK, NO)),
    ("GET /api/v1/orgs/{org}/secrets", None, (OK, OK, OK, OK)),
    ("POST /api/v1/orgs/{org}/secrets", {"name": "OTHER_TOKEN", "value": "x"},
     (MADE, MADE, MADE, NO)),
    (f"GET {SECRET}", None, (OK, OK, OK, OK)),
    (f"DELETE {SECRET}", None, (OK, OK, OK, NO)),
    (f"GET {SECRET}/agents", None, (OK, OK, OK, OK)),
    (f"POST {SECRET}/rotate", {"value": "y"}, (OK, OK, OK, NO)),
    ("GET /api/v1/orgs/{org}/tokens", None, (OK, OK, NO, NO)),
    ("POST /api/v1/orgs/{org}/tokens", {"name": "another"}, (MADE, MADE, NO, NO)),
    (f"GET {TOKEN}", None, (OK, OK, NO, NO)),
    (f"DELETE {TOKEN}", None, (GONE, GONE, NO, NO)),
    ("GET /api/v1/orgs/{org}/trial-restores", None, (OK, OK, OK, OK)),
    ("POST /api/v1/orgs/{org}/trial-restores", {}, (ACCEPTED, ACCEPTED, ACCEPTED, NO)),
    ("GET /api/v1/orgs/{org}/trial-restores/{trl}", None, (OK, OK, OK, OK)),
]  # fmt: skip
ROLES = [Role.OWNER, Role.ADMIN, Role.DEVELOPER, Role.VIEWER]
CASES = [
    pytest.param(operation, body, role, status, id=f"{role} {operation}")
    for operation, body, statuses in TABLE
    for role, status in zip(ROLES, statuses, strict=True)
]


@pytest.fixture(autouse=True)
def gateway_away(settings):
    settings.GATEWAY_URL = "http://127.0.0.1:1"
    settings.ROOST_ARCHIVES = True


@pytest.fixture
def ids(
    acme,
    agent,
    key,
    secret,
    scan,
    snapshot,
    restore,
    drill,
    trial,
    upgrade,
    newer,
    as_alice,
    alice_api,
    export,
    upload,
) -> dict[str, str]:
    tok = acme.tokens.first().pk
    update_agent(as_alice, agent, size="medium")  # there is a release to go back to
    type(agent).objects.update(
        workspace_made_at=now(), status="running", observed_generation=F("generation")
    )
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
def as_dora(acme):
    """Dora is in Acme in the role a test gives her."""
    dora = person("Dora")
    Membership.objects.create(organisation=acme, user=dora, role=Role.OWNER)
    return of_member(dora, id=acme.pk)


def now_a(role, access) -> None:
    access.user.memberships.update(role=role)


def ask(api, operation, ids, body):
    method, _, path = operation.partition(" ")
    headers = {"Accept": "text/event-stream"} if path.endswith("/stream") else {}
    if method == "GET" and body:  # its query
        body = {name: value.format(**ids) for name, value in body.items()}
        return api.get(path.format(**ids), body)
    return getattr(api, method.lower())(path.format(**ids), body, "json", headers=headers)


def test_the_table_holds_every_operation():
    assert [row[0] for row in TABLE if row[0] not in set(map(str, operations()))] == []
    assert {row[0] for row in TABLE} == set(map(str, operations()))


@pytest.mark.parametrize(("operation", "body", "role", "status"), CASES)
def test_a_role_may_what_the_table_says(as_dora, ids, operation, body, role, status):
    api = token_api(as_dora, sorted(scopes_of(Role.OWNER)))
    now_a(role, as_dora)
    before = everything()

    response = ask(api, operation, ids, body)

    assert response.status_code == status
    if status >= 400:
        assert response.json()["code"] == REFUSALS[status]
        assert everything() == before


@pytest.mark.parametrize("operation", operations(), ids=str)
def test_a_token_has_only_the_scopes_it_was_given(as_alice, ids, operation):
    needed = getattr(operation.view, "needs", {}).get(operation.method, "org:read")
    body = next(row[1] for row in TABLE if row[0] == str(operation))
    api = token_api(as_alice, sorted(as_alice.scopes - {needed}))
    before = everything()

    response = ask(api, str(operation), ids, body)

    if operation.path == "/api/v1/schema":
        assert response.status_code == OK
    else:
        assert (response.status_code, response.json()["code"]) == (NO, "forbidden")
        assert needed in response.json()["detail"]
    assert everything() == before


def test_a_token_shrinks_with_its_maker(alice_api, as_alice, ids):
    now_a(Role.VIEWER, as_alice)

    assert ask(alice_api, f"GET {AGENT}", ids, None).status_code == OK
    assert ask(alice_api, f"POST {AGENT}/stop", ids, {}).status_code == NO


def test_a_token_of_somebody_who_left_may_nothing(alice_api, as_alice, ids):
    Membership.objects.filter(user=as_alice.user).delete()
    before = everything()

    for operation, body, _ in TABLE:
        if "schema" not in operation:
            assert ask(alice_api, operation, ids, body).status_code == NO, operation
    assert everything() == before


@pytest.mark.parametrize("scopes", [["tokens:write", "org:write"], ["org:write"]])
def test_a_token_gives_no_more_than_it_has(as_alice, ids, scopes):
    api = token_api(as_alice, ["tokens:write", "agents:read"])
    before = everything()

    response = ask(api, "POST /api/v1/orgs/{org}/tokens", ids, {"name": "wider", "scopes": scopes})

    assert (response.status_code, response.json()["code"]) == (NO, "scope_too_wide")
    assert everything() == before


def test_a_token_made_without_scopes_has_those_of_its_maker(as_alice, ids):
    api = token_api(as_alice, ["tokens:write", "agents:read"])

    made = ask(api, "POST /api/v1/orgs/{org}/tokens", ids, {"name": "same"}).json()

    assert made["scopes"] == ["agents:read", "tokens:write"]


@pytest.mark.parametrize("scopes", [["everything"], ["agents:read", "*"], [""], [7], ["a" * 99]])
def test_an_unknown_scope_is_refused(alice_api, ids, scopes):
    before = everything()
    body = {"name": "odd", "scopes": scopes}

    assert ask(alice_api, "POST /api/v1/orgs/{org}/tokens", ids, body).status_code == 422
    assert everything() == before


def test_a_token_may_be_good_for_nothing(alice_api, ids):
    made = ask(
        alice_api, "POST /api/v1/orgs/{org}/tokens", ids, {"name": "idle", "scopes": []}
    ).json()
    alice_api.credentials(HTTP_AUTHORIZATION=f"Bearer {made['token']}")

    assert ask(alice_api, f"GET {AGENT}", ids, None).status_code == NO


NOT_YOURS = ["id", "org", "organisation", "organisation_id", "status", "reason", "message", "node",
             "plan", "privileged", "image", "goal", "release", "address", "generation", "runtime",
             "disk_used", "disk_level", "restart_serial", "lease_owner", "fence", "created_at",
             "__proto__", "pk", "base_url", "provider", "memory_mb", "cpu_millis"]  # fmt: skip


@pytest.mark.parametrize("field", NOT_YOURS)
@pytest.mark.parametrize("method", ["PATCH", "POST"])
def test_what_is_not_yours_to_set_is_an_unknown_field(alice_api, ids, field, method):
    if method == "POST" and field == "runtime":
        return_path = AGENT + "/restart"
    else:
        return_path = AGENT if method == "PATCH" else "/api/v1/orgs/{org}/agents"
    before = everything()
    body = {field: "x"}

    response = ask(alice_api, f"{method} {return_path}", ids, body)

    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == field
    assert "no such field" in response.json()["detail"]
    assert everything() == before


@pytest.mark.parametrize("field", ["slug", "agent_limit", "paused_reason", "id", "plan"])
def test_an_organisation_does_not_change_its_own_limits(alice_api, ids, field):
    before = everything()

    response = ask(alice_api, "PATCH /api/v1/orgs/{org}", ids, {field: 10_000})

    assert response.status_code == 422
    assert everything() == before


def test_nothing_starts_while_the_organisation_is_paused(alice_api, acme, ids):
    type(acme).objects.update(paused_reason="The invoice of May is open.")
    before = Agent.objects.values_list("generation", flat=True).get()

    for verb in ("start", "restart"):
        response = ask(alice_api, f"POST {AGENT}/{verb}", ids, {})
        assert (response.status_code, response.json()["code"]) == (402, "organisation_paused")
    assert Agent.objects.values_list("generation", flat=True).get() == before


def test_a_fresh_token_of_a_member_may_what_she_may(as_alice, ids):
    assert ask(api_of(as_alice), "GET /api/v1/orgs/{org}/tokens", ids, None).status_code == OK
