"""When a part of the installation is away, the page says so and what goes on without it."""

import pytest
from django.db import OperationalError
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.test import Client, RequestFactory

from frontend.pages import answer


def asked(method: str = "GET") -> HttpRequest:
    return RequestFactory().generic(method, "/acme/agents?q=x")


def test_a_database_that_is_away_is_503_and_looks_again() -> None:
    response = answer(asked(), OperationalError("gone"))

    page = response.content.decode()
    assert response.status_code == 503
    assert "Your agents are not: they run, answer and restart without it." in page
    assert '<meta http-equiv="refresh" content="10">' in page


def test_a_post_is_not_sent_again_by_itself() -> None:
    page = answer(asked("POST"), OperationalError("gone")).content.decode()

    assert "http-equiv" not in page


def test_the_page_for_our_own_mistakes_needs_nothing() -> None:
    assert "This went wrong on our side" in render_to_string("500.html")


@pytest.mark.parametrize("address", ["/acme/keys/add", "/acme/agents/new", "/acme/tokens/issue"])
def test_a_body_of_ten_megabytes_is_refused_in_words(alice_web: Client, address: str) -> None:
    response = alice_web.post(
        address, "name=" + "x" * 10_000_000, "application/x-www-form-urlencoded"
    )

    assert response.status_code == 400
    assert "This request cannot be read" in response.content.decode()
