"""The generated description of the API: no warning, nothing missing, true to what is served."""

import json

import jsonschema
import pytest
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator

from tests.controlplane.looking import everything
from tests.controlplane.routes import operations


@pytest.fixture(scope="module")
def schema():
    with GENERATOR_STATS.silence():
        GENERATOR_STATS.reset()
        found = SchemaGenerator().get_schema(request=None, public=True)
        told = [*GENERATOR_STATS._warn_cache, *GENERATOR_STATS._error_cache]
    assert told == []
    return json.loads(json.dumps(found))


def described(schema):
    return [
        (f"{method.upper()} {path}", operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]


def test_it_is_openapi_3_1(schema):
    assert schema["openapi"].startswith("3.1.")
    assert schema["info"].keys() >= {"title", "version"}
    assert "nullable" not in json.dumps(schema), "3.1 says null as a type"


def test_every_endpoint_is_described(schema):
    served = {str(found) for found in operations()} - {"GET /api/v1/schema"}

    assert {name.replace("{", "").replace("}", "") for name, _ in described(schema)} == {
        name.replace("{", "").replace("}", "") for name in served
    }


def test_every_operation_has_its_own_id_and_a_problem(schema):
    ids = [operation["operationId"] for _, operation in described(schema)]

    assert len(ids) == len(set(ids))
    for name, operation in described(schema):
        problem = operation["responses"]["default"]["content"]["application/problem+json"]
        assert set(problem["schema"]["required"]) >= {"type", "title", "status", "code", "detail"}
        assert any(status.startswith("2") for status in operation["responses"]), name


def test_every_operation_is_told_in_words_and_needs_a_token(schema):
    for name, operation in described(schema):
        assert operation["security"] == [{"apiToken": []}], name
        assert len(operation["operationId"]) > 5


def test_every_parameter_of_a_path_is_described(schema):
    for name, operation in described(schema):
        declared = {p["name"] for p in operation.get("parameters", []) if p["in"] == "path"}
        assert all(f"{{{noun}}}" in name for noun in declared)
        assert name.count("{") == len(declared)


def test_every_query_parameter_that_is_described_is_taken(schema):
    views = {(one.method, one.path): one.view for one in operations()}
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            asked = {one["name"] for one in operation.get("parameters", []) if one["in"] == "query"}
            taken = set(views[method.upper(), path].query) if method == "get" else set()
            assert asked <= taken | {"format"}, operation["operationId"]


def test_retries_and_tags_are_described_where_they_work(schema):
    for name, operation in described(schema):
        headers = {p["name"] for p in operation.get("parameters", []) if p["in"] == "header"}
        assert ("Idempotency-Key" in headers) == name.startswith("POST"), name
        assert ("If-Match" in headers) == name.startswith("PATCH"), name


def test_lists_are_described_with_their_pages(schema):
    for name, operation in described(schema):
        queries = {p["name"] for p in operation.get("parameters", []) if p["in"] == "query"}
        listed = operation["operationId"].endswith("_list") or "events" in operation["operationId"]
        in_the_agent = "text/event-stream" in json.dumps(operation) or "{agt}/" in name
        if listed and (not in_the_agent or operation["operationId"] == "agents_events"):
            assert queries >= {"limit", "cursor"}, name


def test_every_reference_leads_somewhere(schema):
    for reference in references(schema):
        found = schema
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]
        assert found


def references(node):
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for inner in node.values():
            yield from references(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from references(inner)


def test_every_schema_is_a_json_schema(schema):
    for inner in schema["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(inner)


def test_no_schema_of_an_answer_holds_a_value(schema):
    schemas = schema["components"]["schemas"]

    assert "value" not in schemas["Key"]["properties"]
    assert [name for name, found in schemas.items() if "token" in found.get("properties", {})] == [
        "NewToken"
    ]


def answer_schema(schema, operation_id, status):
    operation = next(op for _, op in described(schema) if op["operationId"] == operation_id)
    inner = operation["responses"][status]["content"]["application/json"]["schema"]
    return {**inner, "components": schema["components"]}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("operation", "path"),
    [
        ("organisations_list", "/api/v1/orgs"),
        ("organisations_get", "/api/v1/orgs/{org}"),
        ("agents_list", "/api/v1/orgs/{org}/agents"),
        ("agents_get", "/api/v1/orgs/{org}/agents/{agt}"),
        ("agents_events", "/api/v1/orgs/{org}/agents/{agt}/events"),
        ("agents_disk", "/api/v1/orgs/{org}/agents/{agt}/disk"),
        ("keys_list", "/api/v1/orgs/{org}/keys"),
        ("keys_get", "/api/v1/orgs/{org}/keys/{key}"),
        ("tokens_list", "/api/v1/orgs/{org}/tokens"),
    ],
)
def test_answers_are_what_the_description_says(
    schema, alice_api, acme, agent, key, operation, path
):
    answer = alice_api.get(path.format(org=acme.pk, agt=agent.pk, key=key.pk))

    assert answer.status_code == 200
    jsonschema.validate(answer.json(), answer_schema(schema, operation, "200"))


@pytest.mark.django_db
def test_a_problem_is_as_described(schema, alice_api, acme):
    problem = schema["paths"]["/api/v1/orgs"]["get"]["responses"]["default"]
    before = everything()

    answer = alice_api.post(f"/api/v1/orgs/{acme.pk}/agents", {"colour": "green"})

    shape = problem["content"]["application/problem+json"]["schema"]
    jsonschema.validate(answer.json(), shape)
    assert everything() == before


@pytest.mark.django_db
def test_it_is_served_to_everybody(client):
    response = client.get("/api/v1/schema", headers={"Accept": "application/json"})

    assert response.status_code == 200
    assert response.json()["info"]["title"] == "Roost"
