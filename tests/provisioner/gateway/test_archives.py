"""Links to the store through the gateway: for the caller's own archives, while they are kept."""

import asyncio
import io
from datetime import timedelta

import httpx
import pytest
from django.utils.timezone import now

from controlplane.agents import tickets
from controlplane.agents.actions import create_agent
from controlplane.ids import new_id
from controlplane.portability.models import Export, Import
from provisioner.gateway.app import make_app
from provisioner.offsite import objects, place
from provisioner.portability.export import key_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def stored(settings, store):
    for name, value in store.items():
        setattr(settings, name, value)
    place.bucket().ensure()


@pytest.fixture
def export(talking, stored) -> Export:
    made = Export.objects.create(
        agent=talking, requested_by="Alice", status="done", kept_until=now() + timedelta(hours=24)
    )
    objects.put_stream(place.bucket(), io.BytesIO(b"archive"), key_of(made))
    return made


@pytest.fixture
def upload(acme, stored) -> Import:
    return Import.objects.create(
        organisation=acme, requested_by="Alice", expires_at=now() + timedelta(hours=24)
    )


def get(path: str, ticket: str, **query: str) -> httpx.Response:
    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=make_app())
        async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
            headers = {"X-Roost-Ticket": ticket}
            return await client.get(f"/gateway/{path}", headers=headers, params=query)

    return asyncio.run(ask())


def link(access, export, agent=None) -> httpx.Response:
    agent_id = (agent or export.agent).pk
    ticket = tickets.issue(access, agent_id, "exports")
    return get(f"agents/{agent_id}/exports/{export.pk}/link", ticket)


def place_of(access, found, **query) -> httpx.Response:
    return get(f"imports/{found.pk}/upload", tickets.issue(access, found.pk, "imports"), **query)


def test_a_link_downloads_the_archive_and_ends(as_alice, export, settings):
    told = link(as_alice, export).json()

    assert httpx.get(told["url"], trust_env=False).content == b"archive"
    assert "X-Amz-Expires=3600" in told["url"]
    settings.ROOST_EXPORT_LINK_SECONDS = 60
    assert "X-Amz-Expires=60" in link(as_alice, export).json()["url"]


def test_a_link_never_outlives_what_it_leads_to(as_alice, export):
    Export.objects.update(kept_until=now() + timedelta(seconds=90))

    url = link(as_alice, export).json()["url"]

    seconds = int(url.partition("X-Amz-Expires=")[2].partition("&")[0])
    assert 60 < seconds <= 90


@pytest.mark.parametrize("change", [{"removed_at": now()}, {"status": "failed"}])
def test_what_is_not_there_has_no_link(as_alice, export, change):
    Export.objects.update(**change)

    assert link(as_alice, export).status_code == 404


def test_another_agents_export_is_not_there(as_alice, export):
    other = create_agent(as_alice, name="other", runtime="hermes")

    assert link(as_alice, export, other).status_code == 404


def test_another_organisations_import_is_not_there(as_charlie, upload):
    assert place_of(as_charlie, upload).status_code == 404


def test_a_ticket_for_something_else_opens_nothing(as_alice, export, upload):
    others = tickets.issue(as_alice, new_id("imp"), "imports")
    assert get(f"imports/{upload.pk}/upload", others).status_code == 403
    reading = tickets.issue(as_alice, export.agent_id, "snapshots")
    path = f"agents/{export.agent_id}/exports/{export.pk}/link"
    assert get(path, reading).status_code == 403


def test_the_form_takes_one_archive_of_a_bounded_size(as_alice, upload, settings):
    settings.ROOST_IMPORT_MAX_BYTES = 1000
    told = place_of(as_alice, upload).json()
    assert told["uploaded_bytes"] is None
    form = told["upload"]

    def send(size: int, **changes: str) -> int:
        fields = form["fields"] | changes
        files = {"file": ("archive", b"x" * size)}
        return httpx.post(form["url"], data=fields, files=files, trust_env=False).status_code

    assert send(1001) == 400
    assert send(500, key=form["fields"]["key"].replace("imports", "exports")) == 403
    assert place_of(as_alice, upload).json()["uploaded_bytes"] is None
    assert send(500) == 204
    assert place_of(as_alice, upload).json()["uploaded_bytes"] == 500


def test_a_browser_is_sent_back_to_the_page(as_alice, upload):
    form = place_of(as_alice, upload, back_to="http://roost.test/acme/imports/x").json()["upload"]

    files = {"file": ("archive", b"x")}
    sent = httpx.post(form["url"], data=form["fields"], files=files, trust_env=False)

    assert sent.status_code == 303
    assert sent.headers["Location"].startswith("http://roost.test/acme/imports/x?")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"expires_at": now() - timedelta(days=1)}, "import_expired"),
        ({"agent": True}, "import_used"),
    ],
)
def test_what_was_used_or_is_over_takes_nothing(as_alice, upload, talking, change, code):
    Import.objects.update(**({"agent": talking} if "agent" in change else change))

    refused = place_of(as_alice, upload)
    assert (refused.status_code, refused.json()["code"]) == (409, code)


@pytest.mark.parametrize(("url", "status"), [("http://127.0.0.1:9", 503), ("", 409)])
def test_a_store_that_is_away_is_told(as_alice, upload, settings, url, status):
    settings.S3_ENDPOINT_URL = url

    assert place_of(as_alice, upload).status_code == status
