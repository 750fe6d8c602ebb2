"""Exports and imports as people ask for them."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from controlplane.agents.actions import create_agent
from controlplane.agents.models import Agent
from controlplane.audit.models import AuditEvent
from controlplane.portability import links
from controlplane.portability.models import Export, Import
from controlplane.snapshots.models import Snapshot

pytestmark = pytest.mark.django_db
LINK = {"url": "https://store.test/x?signature", "expires_at": "2026-12-01T12:00:00Z"}
UPLOAD = {"url": "https://store.test", "fields": {"key": "k"}, "max_bytes": 5, "expires_at": "2026"}


@pytest.fixture(autouse=True)
def store(settings):
    settings.ROOST_ARCHIVES = True


@pytest.fixture
def gateway(monkeypatch):
    """What it would say; `arrived` is the size of what was uploaded."""
    told = {"arrived": None}

    async def export_link(access, export):
        return LINK

    async def import_upload(access, found, **more):
        return {"uploaded_bytes": told["arrived"], "upload": UPLOAD}

    monkeypatch.setattr(links, "export_link", export_link)
    monkeypatch.setattr(links, "import_upload", import_upload)
    return told


@pytest.fixture
def made(agent):
    Agent.objects.update(workspace_made_at=now())
    agent.refresh_from_db()
    return agent


@pytest.fixture
def exports(acme, made) -> str:
    return f"/api/v1/orgs/{acme.pk}/agents/{made.pk}/exports"


@pytest.fixture
def imports(acme) -> str:
    return f"/api/v1/orgs/{acme.pk}/imports"


@pytest.mark.parametrize("of_one", [True, False])
def test_an_export_is_accepted(alice_api, exports, snapshot, made, of_one):
    response = alice_api.post(exports, {"snapshot": snapshot.pk} if of_one else {})

    assert response.status_code == 202, response.json()
    row = Export.objects.get()
    assert (row.snapshot_id, row.status) == (snapshot.pk if of_one else None, "pending")
    assert AuditEvent.objects.get(action="agent.exported").data["export"] == row.pk
    assert made.events.get(kind="export.asked").actor == "token test"


def test_without_a_store_it_says_what_to_set_up(alice_api, exports, imports, settings):
    settings.ROOST_ARCHIVES = False

    for url in (exports, imports):
        response = alice_api.post(url, {})
        assert (response.status_code, response.json()["code"]) == (409, "no_store")
        assert "S3_ENDPOINT_URL" in response.json()["detail"]
    assert not Export.objects.exists()
    assert not Import.objects.exists()


def test_two_at_once_are_refused(alice_api, exports):
    assert alice_api.post(exports, {}).status_code == 202

    assert alice_api.post(exports, {}).json()["code"] == "export_under_way"
    assert Export.objects.count() == 1


def test_another_agents_snapshot_is_not_there(alice_api, as_alice, acme, snapshot):
    """T4"""
    other = create_agent(as_alice, name="other", runtime="hermes")
    Agent.objects.update(workspace_made_at=now())
    url = f"/api/v1/orgs/{acme.pk}/agents/{other.pk}/exports"

    assert alice_api.post(url, {"snapshot": snapshot.pk}).status_code == 404
    assert not Export.objects.exists()


def test_one_that_is_not_whole_is_not_exported(alice_api, exports, snapshot):
    Snapshot.objects.update(manifest_sha256="")

    response = alice_api.post(exports, {"snapshot": snapshot.pk})

    assert response.json()["code"] == "snapshot_not_usable"


def test_a_link_is_for_who_may_write_and_while_it_is_kept(
    alice_api, bob_api, exports, export, gateway
):
    url = f"{exports}/{export.pk}"
    assert alice_api.get(url).json()["url"] == LINK["url"]
    assert bob_api.get(url).json()["url"] is None

    Export.objects.update(removed_at=now())
    assert alice_api.get(url).json()["url"] is None


def test_an_import_says_where_to_upload(alice_api, bob_api, imports, gateway):
    opened = alice_api.post(imports, {})

    assert opened.status_code == 201
    url = f"{imports}/{opened.json()['id']}"
    assert alice_api.get(url).json()["upload"] == UPLOAD
    assert bob_api.get(url).json()["upload"] is None
    assert AuditEvent.objects.get(action="import.opened")


def test_an_agent_begins_with_it_once(alice_api, imports, upload, gateway):
    gateway["arrived"] = 5

    begun = alice_api.post(f"{imports}/{upload.pk}/agent", {"name": "heron", "runtime": "hermes"})

    assert begun.status_code == 202, begun.json()
    agent = Agent.objects.get(name="heron")
    upload.refresh_from_db()
    assert (agent.origin, upload.agent) == (upload.becomes, agent)
    assert AuditEvent.objects.get(action="agent.imported").data["import"] == upload.pk
    again = alice_api.post(f"{imports}/{upload.pk}/agent", {"name": "two", "runtime": "hermes"})
    assert (again.status_code, again.json()["code"]) == (409, "import_used")
    assert alice_api.get(f"{imports}/{upload.pk}").json()["upload"] is None


def test_nothing_begins_before_something_was_uploaded(alice_api, imports, upload, gateway):
    body = {"name": "heron", "runtime": "hermes"}

    response = alice_api.post(f"{imports}/{upload.pk}/agent", body)

    assert (response.status_code, response.json()["code"]) == (409, "nothing_uploaded")
    assert not Agent.objects.filter(name="heron").exists()


@pytest.mark.parametrize(
    ("change", "runtime", "code"),
    [
        ({"expires_at": now() - timedelta(days=1)}, "hermes", "import_expired"),
        ({}, "paperclip", "not_importable"),
        ({}, "none", "unknown_runtime"),
    ],
)
def test_what_cannot_be_is_refused(alice_api, imports, upload, gateway, change, runtime, code):
    gateway["arrived"] = 5
    if change:
        Import.objects.update(**change)

    response = alice_api.post(f"{imports}/{upload.pk}/agent", {"name": "b", "runtime": runtime})

    assert response.json()["code"] == code
    assert not Agent.objects.filter(name="b").exists()


def test_there_is_a_most_of_places_to_upload_to(alice_api, imports):
    for _ in range(5):
        assert alice_api.post(imports, {}).status_code == 201

    assert alice_api.post(imports, {}).json()["code"] == "too_many_imports"


def test_a_paused_organisation_begins_nothing(alice_api, acme, imports, upload, gateway):
    """L1"""
    gateway["arrived"] = 5
    type(acme).objects.update(paused_reason="The invoice is open.")

    response = alice_api.post(f"{imports}/{upload.pk}/agent", {"name": "b", "runtime": "hermes"})

    assert response.json()["code"] == "organisation_paused"


def test_one_file_is_restored_by_its_path(alice_api, acme, made, snapshot):
    url = f"/api/v1/orgs/{acme.pk}/agents/{made.pk}/snapshots/{snapshot.pk}/restore"

    response = alice_api.post(url, {"path": "/notes/plan.md/"})

    assert (response.status_code, response.json()["path"]) == (202, "notes/plan.md")
    asked = AuditEvent.objects.get(action="agent.restored_to_snapshot")
    assert asked.data["path"] == "notes/plan.md"


@pytest.mark.parametrize("path", ["..", "a/../b", "/", "a//b", "./a", "a\nb", "x" * 20_001, 7])
def test_what_is_no_path_is_refused(alice_api, acme, made, snapshot, path):
    url = f"/api/v1/orgs/{acme.pk}/agents/{made.pk}/snapshots/{snapshot.pk}/restore"

    assert alice_api.post(url, {"path": path}, "json").status_code == 422
    assert not snapshot.restores.exists()


@pytest.mark.parametrize("path", ["mem.db", "a/mem.sqlite-wal", "x.db-journal", "state.sqlite3"])
def test_a_running_agents_database_is_not_restored_alone(alice_api, acme, made, snapshot, path):
    url = f"/api/v1/orgs/{acme.pk}/agents/{made.pk}/snapshots/{snapshot.pk}/restore"

    response = alice_api.post(url, {"path": path})

    assert (response.status_code, response.json()["code"]) == (409, "database_in_use")
    Agent.objects.update(goal="stopped")
    assert alice_api.post(url, {"path": path}).status_code == 202


def test_a_new_one_ends_all_but_the_two_before_it(alice_api, exports, made):
    """The store has other guests."""
    later = now() + timedelta(hours=20)
    older = [
        Export.objects.create(
            agent=made, requested_by="Alice", status="done", kept_until=later,
            created_at=now() - timedelta(minutes=minutes),
        )
        for minutes in (40, 30, 20, 10)
    ]  # fmt: skip

    assert alice_api.post(exports, {}).status_code == 202

    ended = set(Export.objects.filter(kept_until__lte=now()).values_list("pk", flat=True))
    assert ended == {one.pk for one in older[:2]}
    assert Export.objects.filter(kept_until=later).count() == 2


def test_the_organisation_is_the_first_of_all_locks(alice_api, acme, imports, upload, gateway):
    """Or two who lock in another order wait for each other for ever."""
    gateway["arrived"] = 5

    for url, body in (
        (imports, {}),
        (f"{imports}/{upload.pk}/agent", {"name": "heron", "runtime": "hermes"}),
    ):
        with CaptureQueriesContext(connection) as asked:
            assert alice_api.post(url, body).status_code in {201, 202}
        locks = [query["sql"] for query in asked if " FOR " in query["sql"]]
        assert f'FROM "{acme._meta.db_table}"' in locks[0]
