"""Broken requests get a 4xx in the dialect's shape, never a 5xx; hang-ups end the work."""

import asyncio
import json
import os
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deploy.model.door import LARGEST_BODY
from deploy.model.server import NotLocal, require_local, stand_in

BROKEN = [
    b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"{}", b"[" * 100_000, b'{"model": NaN}',
    b'{"model": 1e999}', b'{"model": "\\ud800"}', b'{"model": ' + b"9" * 5000 + b"}",
]  # fmt: skip
FIELD = {"openai": "messages", "responses": "input", "anthropic": "messages", "gemini": "contents"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["role", "content", "type", "text", "parts", "name", "function", "output", "user",
             "tool_result", "functionResponse", "response", "functionDeclarations"]
        ),
        inner | st.sampled_from(["user", "assistant", "model", "tool", "tool_result", "function"]),
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.parametrize("content", BROKEN, ids=lambda content: repr(content[:12]))
def test_a_broken_body_is_a_400_that_is_still_json(client, dialect, content):
    response = client.send("POST", dialect.path, content=content)
    assert response.status_code == 400
    assert response.json()["error"]["message"]


def test_a_body_of_ten_megabytes_is_too_large(client, dialect):
    response = client.post(dialect.path, dialect.ask("x" * 10_000_000))
    assert response.status_code == 413
    assert str(LARGEST_BODY) in response.json()["error"]["message"]


def test_a_body_of_seven_megabytes_is_answered_soon(client, dialect):
    started = time.monotonic()
    noise = (
        "Remember: the codeword is x. What is the code? USETOOL a {[ <system-reminder> " * 90_000
    )
    assert client.post(dialect.path, dialect.ask(noise)).status_code == 200
    assert time.monotonic() - started < 20


def test_no_messages_at_all_is_a_400(client, dialect):
    for empty in ([], None, 7, {}, [7], [None]):
        response = client.post(dialect.path, dialect.ask("Hi") | {FIELD[dialect.name]: empty})
        assert response.status_code == 400
        assert FIELD[dialect.name] in response.json()["error"]["message"]


def test_a_directive_whose_json_holds_what_json_cannot_is_answered_in_words(client, dialect):
    for inner in ("1e999", "NaN", '"\\ud800"', "[" * 3000):
        body = dialect.ask(f'USETOOL search {{"x": {inner}}}', tools=("search",))
        response = client.post(dialect.path, body)
        assert response.status_code == 200
        assert "cannot read the JSON" in dialect.said(response.json())[0]


@pytest.mark.parametrize("depth", [150, 300, 954, 990, 5000])
def test_deep_nesting_is_answered_at_every_depth(client, dialect, depth):
    nested = "[" * depth + "]" * depth
    told = dialect.ask(f'USETOOL search {{"x": {nested}}}', tools=("search",))
    assert client.post(dialect.path, told).status_code == 200
    content = json.dumps(dialect.ask("Hi") | {"other": 0}).replace(": 0}", f": {nested}}}")
    status = client.send("POST", dialect.path, content=content.encode()).status_code
    assert status == (200 if depth < 200 else 400)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(messages=JSON, tools=JSON, stream=JSON)
def test_no_json_of_any_kind_makes_a_server_error(client, dialect, messages, tools, stream):
    body = dialect.ask("Hi") | {FIELD[dialect.name]: messages, "tools": tools, "stream": stream}
    content = json.dumps(body).encode()
    assert client.send("POST", dialect.path, content=content).status_code in (200, 400)
    fine = dialect.ask("Hi") | {FIELD[dialect.name]: [messages]}
    content = json.dumps(fine).encode()
    assert client.send("POST", dialect.path, content=content).status_code in (200, 400)


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_hangs_up_ends_a_slow_answer(dialect, stream):
    body = json.dumps(dialect.ask("SLOW 100 tell me something") | {"stream": stream}).encode()
    path, _, query = (dialect.stream_path if stream else dialect.path).partition("?")
    sent = []

    async def go():
        incoming = asyncio.Queue()
        await incoming.put({"type": "http.request", "body": body, "more_body": False})

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http", "method": "POST", "path": path, "query_string": query.encode(),
            "headers": [(b"authorization", b"Bearer k")],
            "asgi": {"version": "3.0", "spec_version": "2.3"},
        }  # fmt: skip
        working = asyncio.create_task(stand_in()(scope, incoming.get, send))
        await asyncio.sleep(0.1)
        assert not working.done()
        await incoming.put({"type": "http.disconnect"})
        await asyncio.wait_for(working, timeout=5)

    asyncio.run(go())
    assert not [message for message in sent if b"DONE" in message.get("body", b"")]


def test_it_refuses_to_start_outside_local_settings():
    with pytest.raises(NotLocal, match="ROOST_STANDIN_MODEL is not 1"):
        require_local({"ROOST_STANDIN_MODEL": "true"})
    assert require_local({"ROOST_STANDIN_MODEL": "1"}) is None


@pytest.mark.parametrize("allowed", [False, True])
def test_importing_what_uvicorn_serves_needs_the_local_switch(allowed):
    environment = {key: value for key, value in os.environ.items() if key != "ROOST_STANDIN_MODEL"}
    switched = environment | ({"ROOST_STANDIN_MODEL": "1"} if allowed else {})
    argv = [sys.executable, "-c", "import deploy.model.app"]
    done = subprocess.run(argv, env=switched, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == allowed
    assert ("NotLocal" in done.stderr) != allowed


def test_the_key_in_the_query_is_gone_before_anything_logs_the_path():
    scope = {
        "type": "http", "method": "GET", "path": "/v1beta/models", "headers": [],
        "query_string": b"alt=sse&key=secret", "asgi": {"version": "3.0", "spec_version": "2.3"},
    }  # fmt: skip
    statuses = []

    async def send(message):
        statuses.append(message.get("status"))

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    asyncio.run(stand_in()(scope, receive, send))
    assert statuses[0] == 200
    assert scope["query_string"] == b"alt=sse"
