"""The host's door and its answers, over HTTP."""

import sqlite3
from pathlib import Path

import httpx
import pytest
from starlette.requests import Request

from runtimes.opensre.host import app
from runtimes.opensre.host.door import LARGEST_BODY
from tests.runtimes.fake_opensre import TOKEN, hosted

pytestmark = pytest.mark.anyio  # the one that is not async does not mind
MAIN = "/conversations/main/messages"


@pytest.mark.parametrize("path", ["/ready", "/conversations", "/investigations", "/nothing-here"])
@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], f"{TOKEN}t", "ü"])
async def test_all_but_the_health_path_asks_for_the_token(
    tmp_path: Path, path: str, token: str
) -> None:
    headers = {"Authorization": f"Bearer {token}".encode()}
    async with hosted(tmp_path) as there:
        answer = await there.client.get(path, headers=headers)
    assert answer.status_code == httpx.codes.UNAUTHORIZED


async def test_the_health_path_is_open_and_says_who_is_there(tmp_path: Path) -> None:
    async with hosted(tmp_path) as there:
        del there.client.headers["Authorization"]
        answer = await there.client.get("/ok")
    assert answer.json() == {"status": "ok", "service": "opensre-host"}


async def test_it_is_ready_for_whoever_has_the_token(tmp_path: Path) -> None:
    async with hosted(tmp_path) as there:
        answer = await there.client.get("/ready")
    assert answer.status_code == httpx.codes.OK


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[]", "a JSON object"),
        (b"{}", "a text"),
        (b'{"text": "  "}', "a text"),
        (b'{"text": 1}', "a text"),
    ],
)
async def test_what_is_no_message_is_refused_and_not_kept(
    tmp_path: Path, body: bytes, words: str
) -> None:
    async with hosted(tmp_path) as there:
        answer = await there.client.post(MAIN, content=body)
        assert answer.status_code == httpx.codes.BAD_REQUEST
        assert words in answer.json()["error"]["message"]
        assert there.store.conversations() == []


async def test_a_body_too_large_is_refused(tmp_path: Path) -> None:
    async with hosted(tmp_path) as there:
        answer = await there.client.post(MAIN, json={"text": "x" * LARGEST_BODY})
    assert answer.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE


@pytest.mark.parametrize("alert", [{}, [], "down", None])
async def test_an_alert_is_an_object(tmp_path: Path, alert: object) -> None:
    async with hosted(tmp_path) as there:
        answer = await there.client.post("/investigations", json={"alert": alert})
        assert answer.status_code == httpx.codes.BAD_REQUEST
        assert there.store.investigations() == []


async def test_half_a_letter_is_answered_and_kept_as_a_question_mark(tmp_path: Path) -> None:
    async with hosted(tmp_path) as there:
        answer = await there.client.post(MAIN, content=b'{"text": "half \\ud800"}')
        assert answer.status_code == httpx.codes.OK
        assert there.store.history("main")[0]["text"] == "half ?"


async def test_what_is_not_there_is_a_404_in_json(tmp_path: Path) -> None:
    async with hosted(tmp_path) as there:
        for path in ("/nothing", "/conversations/x/messages", "/investigations/x"):
            answer = await there.client.get(path)
            assert answer.status_code == httpx.codes.NOT_FOUND
            assert answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("trouble", "status", "words"),
    [
        ("database or disk is full", 507, "workspace is full"),
        ("file is not a database", 503, "cannot be read"),
    ],
)
def test_trouble_with_the_disk_is_told(trouble: str, status: int, words: str) -> None:
    answer = app.disk_trouble(Request({"type": "http"}), sqlite3.OperationalError(trouble))
    assert answer.status_code == status
    assert words in bytes(answer.body).decode()
