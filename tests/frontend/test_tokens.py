"""The page of API tokens."""

import html
import re

import pytest
from django.test import Client

from controlplane.tenants.access import Access
from controlplane.tenants.actions import issue_token
from controlplane.tenants.models import ApiToken

ISSUE = "/acme/tokens/issue"
HTMX = {"HX-Request": "true"}


def text_in(page: str) -> str:
    found = re.search(r'<pre id="token-text"[^>]*>([^<]+)</pre>', page)
    assert found
    return html.unescape(found[1])


def test_a_token_is_shown_once_and_works(alice_web: Client, client: Client) -> None:
    page = alice_web.post(ISSUE, {"name": "ci", "reach": "all", "days": "30"})

    text = text_in(page.content.decode())
    assert page["Cache-Control"] == "no-store"
    assert ApiToken.objects.get().digest == ApiToken.digest_of(text)
    assert text not in alice_web.get("/acme/tokens").content.decode()
    answer = client.get("/api/v1/orgs", headers={"Authorization": f"Bearer {text}"})
    assert answer.status_code == 200


def test_a_reading_token_has_reading_scopes(alice_web: Client) -> None:
    alice_web.post(ISSUE, {"name": "watch", "reach": "read", "days": ""})

    token = ApiToken.objects.get()
    assert token.expires_at is None
    assert token.scopes
    assert all(scope.endswith(":read") for scope in token.scopes)


def test_in_a_dialog_the_text_takes_the_place_of_the_form(alice_web: Client) -> None:
    page = alice_web.post(ISSUE, {"name": "ci", "reach": "all", "days": "90"}, headers=HTMX)

    assert "<html" not in page.content.decode()
    assert text_in(page.content.decode()).startswith("rst_")


@pytest.mark.parametrize(
    "wrong", [{"name": ""}, {"reach": "root"}, {"days": "9999"}, {"name": "sk-ant-" + "x" * 30}]
)
def test_nonsense_makes_no_token(alice_web: Client, wrong: dict[str, str]) -> None:
    response = alice_web.post(ISSUE, {"name": "ci", "reach": "all", "days": "30"} | wrong)

    assert response.status_code == 422
    assert 'aria-invalid="true"' in response.content.decode()
    assert not ApiToken.objects.exists()


def test_a_revoked_token_is_gone(alice_web: Client, as_alice: Access) -> None:
    token, _ = issue_token(as_alice, name="ci")

    assert "ci" in alice_web.get("/acme/tokens").content.decode()
    alice_web.post(f"/acme/tokens/{token.pk}/revoke")

    token.refresh_from_db()
    assert token.revoked_at is not None


@pytest.mark.parametrize("who", ["bob_web", "charlie_web"])
def test_nobody_else_sees_or_changes_tokens(
    request: pytest.FixtureRequest, as_alice: Access, who: str
) -> None:
    token, _ = issue_token(as_alice, name="ci")
    client: Client = request.getfixturevalue(who)
    status = 403 if who == "bob_web" else 404

    assert client.get("/acme/tokens").status_code == status
    assert client.post(ISSUE, {"name": "x", "reach": "all"}).status_code == status
    assert client.post(f"/acme/tokens/{token.pk}/revoke").status_code == status
    token.refresh_from_db()
    assert token.revoked_at is None
    assert ApiToken.objects.count() == 1
