"""The web process's door: bodies as a server brings them, and heads that Django trips over."""

import asyncio
import json

import pytest
from asgiref.sync import async_to_sync
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.api.door import PATIENCE, Door
from controlplane.asgi import application

MIB = 1024 * 1024


def ask(app, pieces, headers=(), path="/api/v1/nowhere", query=b""):
    """The status, headers and body that `app` answers, and how many pieces it took."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "query_string": query,
        "headers": [(b"host", b"localhost"), *headers],
    }
    sent, taken = [], 0

    async def receive():
        nonlocal taken
        if taken == len(pieces):
            await asyncio.Event().wait()  # they wait for the answer
        taken += 1
        body = pieces[taken - 1]
        return {"type": "http.request", "body": body, "more_body": taken < len(pieces)}

    async def send(message):
        sent.append(message)

    async_to_sync(app)(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], dict(sent[0]["headers"]), body, taken


async def echo(scope, receive, send):
    message = await receive()
    said = {"length": dict(scope["headers"]).get(b"content-length", b"").decode()}
    said["body"] = message["body"].decode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": json.dumps(said).encode()})


def test_a_body_in_pieces_arrives_whole_and_with_its_length():
    _, _, body, _ = ask(Door(echo), [b"on", b"", b"ce"])

    assert json.loads(body) == {"length": "4", "body": "once"}


def test_a_length_that_was_sent_stays():
    _, _, body, _ = ask(Door(echo), [b"once"], [(b"content-length", b"4")])

    assert json.loads(body)["length"] == "4"


def test_no_body_is_no_body():
    _, _, body, _ = ask(Door(echo), [b""])

    assert json.loads(body) == {"length": "", "body": ""}


@pytest.mark.parametrize("headers", [[], [(b"content-length", b"10485760")]])
def test_ten_megabytes_are_refused_after_they_were_sent(headers):
    status, answered, body, taken = ask(Door(echo), [b"a" * MIB] * 10, headers)

    assert (status, taken) == (413, 10)
    assert answered[b"content-type"] == b"application/problem+json"
    problem = json.loads(body)
    assert problem["code"] == "body_too_large"
    assert problem["request_id"] == answered[b"x-request-id"].decode()


def test_a_body_without_end_is_not_waited_for():
    pieces = [b"a" * MIB] * (2 * PATIENCE // MIB)

    status, _, _, taken = ask(Door(echo), pieces)

    assert (status, taken) == (413, PATIENCE // MIB + 1)


def test_a_mebibyte_passes():
    status, _, body, _ = ask(Door(echo), [b"a" * (MIB // 2)] * 2)

    assert status == 200
    assert len(json.loads(body)["body"]) == MIB


def test_a_million_single_bytes_are_joined_quickly():
    status, _, _, _ = ask(Door(echo), [b"a"] * 200_000)

    assert status == 200


def test_the_web_process_has_this_door():
    status, _, _, _ = ask(application, [b"a" * MIB] * 2)

    assert status == 413


def refused(answer):
    status, headers, body, _ = answer
    assert 400 <= status < 500
    assert headers.get(b"content-type", headers.get(b"Content-Type")) == b"application/problem+json"
    return json.loads(body)


head = st.binary(max_size=80).filter(lambda text: not {10, 13} & set(text))
KINDS = [
    b"a/b; c*=0''d",
    b"*/*; q*=x''y",
    b"application/json;" + b"a=b;" * 9999,
    b";;=",
    b"\xff/\x00",
]


@pytest.mark.django_db
@settings(deadline=None, max_examples=60, derandomize=True, database=None)
@given(kind=head | st.sampled_from(KINDS), name=st.sampled_from([b"content-type", b"accept"]))
def test_no_kind_of_content_breaks_it(kind, name):
    refused(ask(application, [b"{}"], [(name, kind)], "/api/v1/orgs"))


@pytest.mark.django_db
@settings(deadline=None, max_examples=30, derandomize=True, database=None)
@given(query=head)
def test_no_bytes_of_a_query_string_break_it(query):
    refused(ask(application, [b"{}"], query=query))
