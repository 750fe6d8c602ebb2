"""Signing in at Paperclip's UI, and what of it stays closed."""

import pytest

from runtimes.adapter import Endpoint, RuntimeRefused
from runtimes.paperclip.web import web
from tests.runtimes.fake_paperclip import BASE, FakePaperclip

pytestmark = pytest.mark.anyio
ORIGIN = "https://agt-1.agents.example"
A = "/api/companies/c/"


async def test_the_platform_signs_in_and_brings_the_cookie_alone() -> None:
    paperclip = FakePaperclip()
    endpoint = paperclip.settled()
    async with paperclip.client() as client:
        found = await web.sign_in(client, endpoint, BASE, ORIGIN)
    assert found == {"Cookie": "paperclip-default.session_token=signed"}


async def test_it_makes_nobody() -> None:
    paperclip = FakePaperclip()
    async with paperclip.client() as client:
        with pytest.raises(RuntimeRefused, match="401: Invalid email or password"):
            await web.sign_in(client, Endpoint(BASE, "t", {"password": "p"}), BASE, ORIGIN)
    assert paperclip.people == {}


@pytest.mark.parametrize(
    ("status", "path", "expired"),
    [
        (401, "/api/companies", True),
        (403, f"{A}events/ws", True),
        (403, "/api/admin/users", False),
        (200, "/", False),
        (404, "/api/x", False),
    ],
)
def test_a_sign_in_that_is_over_is_noticed(status: int, path: str, expired: bool) -> None:
    assert web.expired(status, path) is expired


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/auth/sign-up/email"),
        ("POST", "/api/auth/sign-out"),
        ("POST", "/API/Auth/change-password"),
        ("GET", "/api/auth/list-sessions"),
        ("POST", "/api/board-api-keys"),
        ("DELETE", "/api/board-api-keys/1"),
        ("POST", "/api/cli-auth/challenges/1/approve"),
        ("POST", "/api/agents/a/keys"),
        ("POST", "/api/agents/a/claude-login"),
        ("POST", f"{A}invites"),
        ("POST", f"{A}adapters/codex_local/login-sessions"),
        ("POST", f"{A}setup-token-login-sessions"),
        ("POST", f"{A}ai-connections/local/attempts"),
        ("POST", "/api/admin/users/u/demote-instance-admin"),
    ],
)
def test_ways_to_become_somebody_and_to_mint_keys_are_closed(method: str, path: str) -> None:
    assert web.refuses(method, path)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/auth"),
        ("GET", "/api/auth/get-session"),
        ("PATCH", "/api/auth/profile"),
        ("GET", "/api/agents/a"),
        ("POST", f"{A}agents"),
        ("GET", f"{A}events/ws"),
        ("POST", f"{A}secrets"),
        ("GET", f"{A}ai-connections"),
        ("GET", "/api/agents/keys"),
    ],
)
def test_the_rest_is_open(method: str, path: str) -> None:
    assert not web.refuses(method, path)
