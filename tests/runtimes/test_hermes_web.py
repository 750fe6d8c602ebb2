"""Hermes' dashboard behind the gateway: woken, signed in, and what of it stays closed."""

import json

import httpx
import pytest

from runtimes.adapter import Endpoint, RuntimeRefused, RuntimeUnreachable
from runtimes.catalog import CATALOG
from runtimes.hermes.web import DOORMAN, web
from runtimes.web import load_web

pytestmark = pytest.mark.anyio
ENDPOINT = Endpoint("http://agent:8642", "g" * 48, {"dashboard": "d" * 48})


class Fake:
    """Doorman and dashboard; the latter is up after so many questions."""

    def __init__(self, *, sleepy: int = 0, doorman: int = 202, login: int = 200) -> None:
        self.sleepy, self.doorman, self.login = sleepy, doorman, login
        self.asked: list[httpx.Request] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        match request.url.port, request.url.path:
            case port, "/dashboard" if port == DOORMAN and self.doorman:
                return httpx.Response(self.doorman)
            case 9119, "/api/status" if self.sleepy:
                self.sleepy -= 1
                raise httpx.ConnectError("not yet")
            case 9119, "/api/status":
                return httpx.Response(200, json={})
            case 9119, "/auth/password-login":
                cookies = [("Set-Cookie", "session_at=a; Path=/"), ("Set-Cookie", "rt=b; Path=/")]
                return httpx.Response(self.login, headers=cookies, json={"ok": True})
        raise httpx.ConnectError("nobody is there")

    async def sign_in(self) -> dict[str, str]:
        transport = httpx.MockTransport(self.answer)
        async with httpx.AsyncClient(transport=transport) as client:
            return dict(await web.sign_in(client, ENDPOINT, "http://agent:9119", "http://a.b"))


def test_the_manifest_names_it() -> None:
    assert load_web(CATALOG["hermes"]) is web


async def test_it_is_woken_then_signed_in() -> None:
    fake = Fake(sleepy=2)

    assert await fake.sign_in() == {"Cookie": "session_at=a; rt=b"}
    doorman, *_, login = fake.asked
    assert (doorman.method, doorman.headers["authorization"]) == ("POST", f"Bearer {'g' * 48}")
    assert json.loads(login.content) == {
        "provider": "basic",
        "username": "roost",
        "password": "d" * 48,
    }


@pytest.mark.parametrize("fake", [Fake(doorman=401), Fake(login=401)])
async def test_a_no_is_refused(fake: Fake) -> None:
    with pytest.raises(RuntimeRefused):
        await fake.sign_in()


async def test_without_a_doorman_it_is_unreachable() -> None:
    with pytest.raises(RuntimeUnreachable):
        await Fake(doorman=0).sign_in()


@pytest.mark.parametrize(
    ("status", "path", "over"),
    [(401, "/api/sessions", True), (302, "/sessions", True), (401, "/", True),
     (302, "/api/x", False), (200, "/", False), (403, "/api/ws", False)],
)  # fmt: skip
def test_a_lost_session_is_told(status: int, path: str, over: bool) -> None:
    assert web.expired(status, path) is over


@pytest.mark.parametrize(
    "path",
    ["/login", "/auth/password-login", "/auth/logout", "/api/env/reveal", "/api/fs/read-text",
     "/api/git/status", "/api/pty"],
)  # fmt: skip
def test_what_reveals_or_signs_in_is_closed(path: str) -> None:
    assert web.refuses("GET", path)
    assert web.refuses("POST", path)


@pytest.mark.parametrize(
    "path",
    ["/api/env", "/api/config", "/api/config/raw", "/api/credentials/pool", "/api/model/set",
     "/api/providers/oauth/x/start", "/api/messaging/platforms/telegram", "/api/gateway/stop",
     "/api/hermes/update", "/api/memory/providers/x/config", "/api/tools/toolsets/web/env",
     "/api/ops/import", "/api/ops/debug-share"],
)  # fmt: skip
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_what_writes_keys_or_ends_the_agent_can_only_be_read(path: str, method: str) -> None:
    assert web.refuses(method, path)
    assert not web.refuses("GET", path)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/"), ("GET", "/login-help"), ("GET", "/api/auth/me"), ("GET", "/api/ws"),
     ("POST", "/api/auth/ws-ticket"), ("POST", "/api/cron/jobs"), ("GET", "/api/files"),
     ("POST", "/api/files/upload-stream"), ("GET", "/api/model/info"), ("GET", "/assets/a.js")],
)  # fmt: skip
def test_the_rest_is_open(method: str, path: str) -> None:
    assert not web.refuses(method, path)
