"""Whatever comes in, a refusal is one problem with a code and a sentence, and stores nothing."""

import json
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils.timezone import now

from controlplane.api import problems
from controlplane.tenants.models import ApiToken, Membership
from tests.controlplane.looking import everything

pytestmark = pytest.mark.django_db

KEYS = {"type", "title", "status", "code", "detail", "request_id"}


def refused(response, status, code=None):
    """The problem, after looking at its shape."""
    assert response.status_code == status, response.content[:300]
    assert response["Content-Type"] == "application/problem+json"
    body = response.json()
    assert body.keys() >= KEYS
    assert body["status"] == status
    assert body["type"] == f"urn:roost:problem:{body['code']}"
    assert body["request_id"] == response["X-Request-Id"]
    assert len(body["detail"]) > 10
    assert code in (None, body["code"])
    return body


def post(api, acme, body, content_type="application/json", **extra):
    return api.post(f"/api/v1/orgs/{acme.pk}/agents", body, content_type=content_type, **extra)


WORTHLESS = {
    "not json": b"name=scout",
    "nothing but blanks": b"   ",
    "half of it": b'{"name": "scout"',
    "not UTF-8": b'{"name": "\xff\xfe"}',
    "UTF-16": '{"name": "scout"}'.encode("utf-16"),
    "a list": b"[1, 2]",
    "a text": b'"scout"',
    "null": b"null",
    "NaN": b'{"name": NaN}',
    "Infinity": b'{"disk_gib": -Infinity}',
    "a number of 5,000 digits": b'{"disk_gib": ' + b"9" * 5000 + b"}",
    "a lone surrogate": b'{"name": "\\ud800"}',
    "a lone surrogate in a field's name": b'{"\\udfff": 1}',
    "nesting without end": b"[" * 100_000,
    "nesting within an object": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
}


@pytest.mark.parametrize("body", WORTHLESS.values(), ids=WORTHLESS.keys())
def test_a_broken_body_is_refused_and_nothing_is_stored(alice_api, acme, body):
    before = everything()

    refused(post(alice_api, acme, body), 400, "broken_body")
    assert everything() == before


IMPOSSIBLE = {
    "a NUL in a name": {"name": "sco\x00ut"},
    "a huge number": {"disk_gib": 10**100},
    "a number beyond all floats": '{"name": "scout", "runtime": "hermes", "disk_gib": 1e999}',
    "a negative number": {"disk_gib": -1},
    "a fraction": {"disk_gib": 5.0},
    "a number in quotes": {"disk_gib": "5"},
    "true for a number": {"disk_gib": True},
    "a number for a name": {"name": 7},
    "a list for a name": {"name": ["scout"]},
    "an object for a name": {"name": {"is": "scout"}},
    "null for a name": {"name": None},
    "a blank name": {"name": "   "},
    "a name of a million letters": {"name": "a" * 10**6},
    "an unknown field": {"colour": "green"},
    "an unknown field with a NUL": {"col\x00our": "green"},
    "many unknown fields": {f"field-{at}": at for at in range(5000)},
}


@pytest.mark.parametrize("change", IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_an_impossible_value_is_refused_by_field_and_nothing_is_stored(alice_api, acme, change):
    before = everything()
    body = (
        change
        if isinstance(change, str)
        else json.dumps({"name": "scout", "runtime": "hermes", **change})
    )

    problem = refused(post(alice_api, acme, body), 422)
    assert problem["errors"][0]["field"]
    assert everything() == before


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/xml",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
        "garbage",
        ";",
        "a/b/c",
        "é",
    ],
)
def test_only_json_is_read(alice_api, acme, kind):
    refused(post(alice_api, acme, b'{"name": "scout"}', kind), 415, "unsupported_media_type")


def test_a_body_of_ten_megabytes_is_too_large(alice_api, acme):
    before = everything()
    body = b'{"name": "' + b"a" * 10_000_000 + b'"}'

    refused(post(alice_api, acme, body), 413, "body_too_large")
    assert everything() == before


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/v1",
        "/v1/",
        "/v1/nowhere",
        "/v1/orgs/",
        "/v2/orgs",
        "/v1/orgs/org_ABC/agents",
        "/v1/orgs/%00",
        "/v1/orgs/%ff%fe",
        "/v1/orgs/..%2f..%2fadmin",
        "/v1/orgs/%F0%9F%90%93",
    ],
)
@pytest.mark.parametrize("method", ["get", "post", "delete", "options"])
def test_what_is_no_endpoint_is_a_problem_not_a_page(alice_api, path, method):
    refused(getattr(alice_api, method)(f"/api{path}"), 404, "not_found")


def test_it_is_so_without_a_token_and_for_a_browser(client, db):
    response = client.get("/api/v1/nowhere", headers={"Accept": "text/html"})

    refused(response, 404, "not_found")


@pytest.mark.parametrize("method", ["put", "delete", "patch", "options", "trace"])
def test_a_method_that_is_not_there_is_405_and_says_which_are(alice_api, acme, method):
    response = getattr(alice_api, method)(f"/api/v1/orgs/{acme.pk}/agents")

    refused(response, 405, "method_not_allowed")
    assert response["Allow"] == "GET, HEAD, POST"


def test_a_browser_asking_for_html_is_told_what_there_is(alice_api):
    refused(alice_api.get("/api/v1/orgs", headers={"Accept": "text/html"}), 406, "not_acceptable")


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer rst_nothing",
        "Basic YTpi",
        "Token abc",
        "Bearer a b",
        "Bearer \xff\xfe",
        "Bearer é" * 500,
    ],
)
def test_without_a_good_token_nobody_gets_in(client, acme, header):
    headers = {} if header is None else {"Authorization": header}
    response = client.get("/api/v1/orgs", headers=headers)

    refused(response, 401)
    assert response["WWW-Authenticate"] == 'Bearer realm="Roost"'


@pytest.mark.parametrize(
    "change",
    [
        {"revoked_at": now()},
        {"expires_at": now() - timedelta(seconds=1)},
        {"digest": "0" * 64},
    ],
)
def test_an_old_token_does_not_open(alice_api, change):
    assert alice_api.get("/api/v1/orgs").status_code == 200
    ApiToken.objects.update(**change)

    refused(alice_api.get("/api/v1/orgs"), 401, "authentication_failed")


def test_the_token_of_somebody_who_may_not_sign_in_does_not_open(alice_api, alice):
    alice.is_active = False
    alice.save()

    refused(alice_api.get("/api/v1/orgs"), 401, "authentication_failed")


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=-1",
        "limit=1e9",
        "limit=abc",
        "limit=",
        "limit=201",
        "limit=999999999999",
        "limit=%D9%A3",
        "limit=%C2%B2",
        "limit=%00",
        "cursor=",
        "cursor=garbage",
        "cursor=%00",
        "cursor=cD1hYmM%3D",
        "cursor=" + "A" * 5000,
        "cursor=%ff",
        "q=%00",
        "q=a%00b",
        "%00=1",
        "runtime=%00",
        "format=xml",
        "format=%00",
    ],
)
def test_odd_query_strings_are_refused(alice_api, acme, query):
    status = 404 if query.startswith("format") else 422
    refused(alice_api.get(f"/api/v1/orgs/{acme.pk}/agents?{query}"), status)


def test_a_cursor_of_another_list_is_not_one_of_ours(alice_api, acme, agent):
    for at in range(3):
        agent.events.create(kind="note", title=f"note {at}")
    events = alice_api.get(f"/api/v1/orgs/{acme.pk}/agents/{agent.pk}/events?limit=1").json()
    cursor = events["next"].partition("cursor=")[2].partition("&")[0]

    refused(alice_api.get(f"/api/v1/orgs/{acme.pk}/agents?cursor={cursor}"), 422, "invalid")


@pytest.mark.parametrize(
    "path",
    [
        "logs?tail=0",
        "logs?tail=5001",
        "logs?tail=x",
        "logs?tail=%C2%B2",
        "logs?since=%00",
        "messages?conversation=%00",
    ],
)
def test_odd_query_strings_of_streams_are_refused(alice_api, acme, agent, path):
    refused(alice_api.get(f"/api/v1/orgs/{acme.pk}/agents/{agent.pk}/{path}"), 422)


@pytest.mark.parametrize("path", ["", "/messages", "/logs", "/disk", "/events", "/conversations"])
def test_an_unknown_query_parameter_is_refused_by_name(alice_api, acme, agent, path):
    response = alice_api.get(f"/api/v1/orgs/{acme.pk}/agents/{agent.pk}{path}?colour=green")

    assert refused(response, 422, "invalid")["errors"][0]["field"] == "colour"


TWICE = [b'{"name": "a", "runtime": "hermes", "name": "b"}', b'{"a": {"name": 1, "name": 2}}',
         b'{"name": 1, "\\u006eame": 2}']  # fmt: skip


@pytest.mark.parametrize("body", TWICE)
def test_a_field_that_is_there_twice_is_refused_by_name(alice_api, acme, agent, body):
    before = everything()

    assert "'name' twice" in refused(post(alice_api, acme, body), 400, "broken_body")["detail"]
    assert everything() == before


@pytest.mark.parametrize(
    ("noun", "body", "field", "says"),
    [
        ("keys", {"name": "a", "provider": "mistral"}, "provider", "one of: anthropic, openai"),
        ("keys", {"name": "a", "provider": ["openai"]}, "provider", "one of: anthropic, openai"),
        ("secrets", {"name": "A", "kind": "wish"}, "kind", "one of: env, file"),
        ("agents", {"secrets": "sec_1"}, "secrets", "a list, such as"),
        ("agents", {"egress_hosts": [7]}, "egress_hosts", "text, in quotes"),
        ("agents", {"egress_hosts": [["a.com"]]}, "egress_hosts.0", "text, in quotes"),
        ("agents", {"background": "yes"}, "background", "true or false"),
        ("agents", {"disk_gib": [1]}, "disk_gib", "a whole number"),
        ("agents", {"name": {}}, "name", "text, in quotes"),
        ("tokens", {"name": "a", "scopes": "agents:read"}, "scopes", "a list, such as"),
        ("tokens", {"name": "a", "expires_at": "soon"}, "expires_at", "a time, such as"),
    ],
)
def test_a_value_of_another_kind_is_told_what_was_expected(
    alice_api, acme, noun, body, field, says
):
    if noun == "agents":
        body = {"name": "scout", "runtime": "hermes", **body}
    problem = refused(alice_api.post(f"/api/v1/orgs/{acme.pk}/{noun}", body, "json"), 422)

    said = {error["field"]: error["message"] for error in problem["errors"]}
    assert says in said[field]


@pytest.mark.parametrize("last", ["x", "-1", "9" * 5000, "1.5", "²", "\x00"])
def test_an_odd_last_event_id_is_refused(alice_api, acme, agent, last):
    path = f"/api/v1/orgs/{acme.pk}/agents/{agent.pk}/events/stream"

    refused(alice_api.get(path, headers={"Last-Event-ID": last}), 422)


def test_a_head_needs_what_a_get_needs(alice_api, bob_api, acme):
    path = f"/api/v1/orgs/{acme.pk}/tokens"

    assert alice_api.head(path).status_code == 200
    assert bob_api.head(path).status_code == 403


def test_an_unusable_database_is_ours_and_says_so():
    response = problems.exception_handler(OperationalError("gone away"), {})

    assert (response.status_code, response.data["code"]) == (503, "unavailable")
    assert "gone away" not in response.data["detail"]


def test_somebody_who_left_sees_nothing_with_an_old_token(alice_api, alice, acme):
    Membership.objects.filter(user=alice).delete()

    refused(alice_api.get("/api/v1/orgs"), 403, "forbidden")
    refused(alice_api.get(f"/api/v1/orgs/{acme.pk}"), 403, "forbidden")
