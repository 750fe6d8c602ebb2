"""What every answer carries, and what its body may not hold under that policy."""

from html.parser import HTMLParser

import pytest
from django.test import Client

from controlplane.agents.models import Agent

PAGES = [
    "/acme/agents",
    "/acme/agents/new",
    "/acme/agents/heron",
    "/acme/agents/heron/chat",
    "/acme/agents/heron/logs",
    "/acme/agents/heron/settings",
    "/acme/keys",
    "/acme/keys/add",
    "/accounts/logout/",
    "/accounts/password/change/",
    "/nothing/here",
]
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)


class Inline(HTMLParser):
    """Collects what a strict policy would block."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        if tag == "style" or (tag == "script" and not names.get("src")):
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            if name == "style" or name.startswith(("on", "hx-on")):
                self.found.append(f"<{tag} {name}>")
            if (value or "").strip().lower().startswith("javascript:"):
                self.found.append(f"<{tag} {name}={value}>")
            if name == "hx-trigger" and "[" in (value or ""):
                self.found.append(f"<{tag} {name}={value}> needs eval")


@pytest.mark.parametrize("address", PAGES)
def test_no_page_has_anything_inline(alice_web: Client, agent: Agent, address: str) -> None:
    page = alice_web.get(address).content.decode()

    assert "<html" in page
    assert Inline(page).found == []


def test_the_sign_in_page_has_nothing_inline(db: None, client: Client) -> None:
    page = client.get("/accounts/login/").content.decode()

    assert "Welcome back" in page
    assert Inline(page).found == []


@pytest.mark.parametrize("address", [*PAGES, "/accounts/login/"])
def test_every_answer_has_the_policy(alice_web: Client, agent: Agent, address: str) -> None:
    response = alice_web.get(address)

    assert response["Content-Security-Policy"] == POLICY
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["X-Frame-Options"] == "DENY"
    assert response["Referrer-Policy"] == "same-origin"


def test_sign_up_is_closed(db: None, client: Client) -> None:
    page = client.get("/accounts/signup/").content.decode()

    assert 'type="password"' not in page
    assert Inline(page).found == []


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_theme_is_on_the_page_before_any_script(alice_web: Client, theme: str) -> None:
    alice_web.cookies["theme"] = theme

    assert f'data-theme="{theme}"' in alice_web.get("/acme/keys").content.decode()


def test_another_theme_is_nobodys(alice_web: Client) -> None:
    alice_web.cookies["theme"] = "x onload=alert"

    assert "data-theme=" not in alice_web.get("/acme/keys").content.decode()
