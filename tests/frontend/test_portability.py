"""Taking a workspace along and bringing one, and restoring one file, in the dashboard."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.portability.models import Export, Import
from controlplane.snapshots.models import Restore, Snapshot

AGENT = "/acme/agents/heron"
UPLOAD = {"url": "https://store.test:8333/roost", "fields": {"key": "org/<b>", "policy": "p"},
          "max_bytes": 5 * 1024**3, "expires_at": "2026-12-01T12:00:00Z"}  # fmt: skip


@pytest.fixture(autouse=True)
def store(settings):
    settings.ROOST_ARCHIVES = True


@pytest.fixture
def made(agent) -> Agent:
    Agent.objects.update(workspace_made_at=now())
    return agent


@pytest.fixture
def snapshot(made) -> Snapshot:
    return Snapshot.objects.create(
        agent=made, requested_by="Alice", release=1, disk_gib=5, status="done", on_node=True,
        taken_at=now() - timedelta(hours=1), manifest_sha256="a" * 64,
    )  # fmt: skip


@pytest.fixture
def upload(acme) -> Import:
    return Import.objects.create(
        organisation=acme, requested_by="Alice", expires_at=now() + timedelta(hours=1)
    )


def text(response) -> str:
    return " ".join(response.content.decode().split())


def export(agent, **columns) -> Export:
    return Export.objects.create(agent=agent, requested_by="Alice", **columns)


# --- exports
@pytest.mark.parametrize("of_one", [True, False])
def test_an_export_is_asked_for(alice_web, made, snapshot, of_one):
    page = f"{AGENT}/snapshots/{snapshot.pk}/export" if of_one else f"{AGENT}/exports/new"
    asked = text(alice_web.get(page))
    assert "One file with all that is in /workspace" in asked
    assert "unencrypted" in asked

    assert alice_web.post(page).status_code == 303

    assert Export.objects.get().snapshot == (snapshot if of_one else None)
    shown = text(alice_web.get(f"{AGENT}/snapshots"))
    assert 'hx-get="/acme/agents/heron/exports"' in shown, "asked for again until it is over"


def test_one_that_is_ready_can_be_downloaded_by_a_fresh_link(alice_web, made, gateway):
    one = export(made, status="done", bytes=3 * 1024**2, sha256="b" * 64,
                 kept_until=now() + timedelta(hours=3))  # fmt: skip
    shown = text(alice_web.get(f"{AGENT}/exports"))
    assert f"exports/{one.pk}/download" in shown
    assert "3.0 MiB" in shown
    gateway.says["link"] = {"url": "https://store.test/x?sig", "expires_at": "2026"}

    response = alice_web.get(f"{AGENT}/exports/{one.pk}/download")

    assert (response.status_code, response["Location"]) == (302, "https://store.test/x?sig")


def test_one_that_is_gone_or_failed_says_so(alice_web, made, gateway):
    one = export(made, status="done", removed_at=now())
    export(made, status="failed", message="The <b>store is full.")

    shown = text(alice_web.get(f"{AGENT}/exports"))

    assert "Removed" in shown
    assert "The &lt;b&gt;store is full." in shown
    assert "/download" not in shown
    assert alice_web.get(f"{AGENT}/exports/{one.pk}/download")["Location"] == f"{AGENT}/snapshots"


def test_without_a_store_it_says_what_to_set_up(alice_web, made, settings):
    settings.ROOST_ARCHIVES = False

    response = alice_web.post(f"{AGENT}/exports/new")

    assert response.status_code == 422
    assert "S3_ENDPOINT_URL" in text(response)


def test_a_viewer_sees_exports_and_takes_none(bob_web, made):
    one = export(made, status="done")

    assert "/download" not in text(bob_web.get(f"{AGENT}/snapshots"))
    for page in ("exports/new", f"exports/{one.pk}/download"):
        assert bob_web.get(f"{AGENT}/{page}").status_code == 403


def test_a_stranger_finds_nothing(charlie_web, made, snapshot, upload):
    """T1"""
    one = export(made, status="done")
    pages = [f"{AGENT}/exports", f"{AGENT}/exports/{one.pk}/download", f"/acme/imports/{upload.pk}",
             f"{AGENT}/snapshots/{snapshot.pk}/restore-file?path=a",
             f"/umbrella/imports/{upload.pk}",
             f"/umbrella/agents/new?import={upload.pk}"]  # fmt: skip

    assert [charlie_web.get(page).status_code for page in pages] == [404] * len(pages)


# --- imports
def test_a_place_to_upload_to_is_opened(alice_web, acme):
    response = alice_web.post("/acme/imports/begin")

    assert response["Location"] == f"/acme/imports/{Import.objects.get().pk}"


def test_the_form_goes_straight_to_the_store_and_nowhere_else(alice_web, upload, gateway):
    gateway.says["upload"] = {"uploaded_bytes": None, "upload": UPLOAD}

    response = alice_web.get(f"/acme/imports/{upload.pk}")

    page = text(response)
    assert 'action="https://store.test:8333/roost" enctype="multipart/form-data"' in page
    assert 'name="key" value="org/&lt;b&gt;"' in page
    assert page.index('name="policy"') < page.index('name="file"'), "the file comes last"
    policy = response["Content-Security-Policy"]
    assert "form-action 'self' https://store.test:8333;" in policy
    assert "back_to=" in gateway.asked[0][0]
    assert (
        "csrfmiddlewaretoken" not in page.partition('id="upload-title"')[2].partition("</form>")[0]
    )


def test_what_arrived_leads_to_the_agent(alice_web, upload, gateway):
    gateway.says["upload"] = {"uploaded_bytes": 2048, "upload": UPLOAD}

    page = text(alice_web.get(f"/acme/imports/{upload.pk}"))

    assert "2.0 KiB arrived" in page
    assert f'href="/acme/agents/new?import={upload.pk}"' in page


@pytest.mark.parametrize(
    ("change", "says"), [({"expires_at": now()}, "Its time is over"), ({}, "right now")]
)
def test_what_cannot_be_says_why(alice_web, upload, settings, change, says):
    settings.GATEWAY_URL = "http://127.0.0.1:1"
    if change:
        Import.objects.update(**change)

    assert says in text(alice_web.get(f"/acme/imports/{upload.pk}"))


@pytest.mark.parametrize(
    ("columns", "goal", "words", "link"),
    [
        ({"status": "running"}, "running", "heron has this archive", True),
        ({"status": "pending", "message": "The store is <away>."}, "running", "&lt;away&gt;", True),
        ({"status": "failed", "message": "No <tar>."}, "running", "No &lt;tar&gt;.", True),
        ({"status": "failed", "message": "No <tar>."}, "deleted", "No &lt;tar&gt;.", False),
    ],
)  # fmt: skip
def test_one_that_an_agent_began_with_says_how_that_is(
    alice_web, made, upload, columns, goal, words, link
):
    Import.objects.update(agent=made, **columns)
    Agent.objects.update(goal=goal)

    page = text(alice_web.get(f"/acme/imports/{upload.pk}"))

    assert words in page
    assert ("has this archive" in page) == (words == "heron has this archive")
    assert (f'href="{AGENT}"' in page) == link


FORM = {"name": "plover", "runtime": "hermes", "disk_gib": "5", "provider": "none", "key": "",
        "size": "small", "egress": "none", "isolation": "default"}  # fmt: skip


def test_an_agent_begins_with_it(alice_web, upload, gateway, settings):
    settings.ROOST_STANDIN_URL = "http://127.0.0.1:1/v1"
    page = text(alice_web.get(f"/acme/agents/new?import={upload.pk}"))
    assert "It begins with the archive that was uploaded." in page
    assert f'name="import" value="{upload.pk}"' in page
    gateway.says["upload"] = {"uploaded_bytes": 2048, "upload": UPLOAD}

    response = alice_web.post("/acme/agents/new", FORM | {"import": upload.pk})

    assert response.status_code == 303, text(response)
    upload.refresh_from_db()
    assert upload.agent == Agent.objects.get(name="plover")
    assert "plover has this archive" in text(alice_web.get(f"/acme/imports/{upload.pk}"))


def test_nothing_begins_before_it_arrived(alice_web, upload, gateway, settings):
    settings.ROOST_STANDIN_URL = "http://127.0.0.1:1/v1"
    gateway.says["upload"] = {"uploaded_bytes": None, "upload": UPLOAD}

    response = alice_web.post("/acme/agents/new", FORM | {"import": upload.pk})

    assert response.status_code == 422
    assert "No archive has arrived yet" in text(response)
    assert not Agent.objects.exists()


# --- one file
def test_a_file_is_restored_from_what_changed(alice_web, made, snapshot):
    page = f"{AGENT}/snapshots/{snapshot.pk}/restore-file?path=notes/plan%3Cb%3E.md"
    asked = text(alice_web.get(page))
    assert "<code>notes/plan&lt;b&gt;.md</code> becomes what it was" in asked
    assert "a program that has the file open does not notice" in asked

    response = alice_web.post(page)

    restore = Restore.objects.get()
    assert restore.path == "notes/plan<b>.md"
    assert response["Location"] == f"{AGENT}/restores/{restore.pk}"
    shown = text(alice_web.get(response["Location"]))
    assert "<code>notes/plan&lt;b&gt;.md</code>" in shown
    Restore.objects.update(status="done")
    shown = text(alice_web.get(response["Location"]))
    assert "</code> was put back to" in shown
    assert "In a folder, what came since stays." in shown


@pytest.mark.parametrize("path", ["", "mem.db", "../x"])
def test_what_cannot_be_restored_alone_says_why(alice_web, made, snapshot, path):
    response = alice_web.post(f"{AGENT}/snapshots/{snapshot.pk}/restore-file?path={path}")

    assert response.status_code == 422
    assert not Restore.objects.exists()


def test_the_comparison_offers_it_for_what_was_there(alice_web, made, snapshot, gateway):
    later = Snapshot.objects.create(
        agent=made, requested_by="Alice", release=1, disk_gib=5, status="done", on_node=True,
        taken_at=snapshot.taken_at + timedelta(microseconds=1), manifest_sha256="a" * 64,
    )  # fmt: skip
    row = {"kind": "file", "size": 1, "size_before": 1, "size_after": 2}
    gateway.says["diff"] = {
        "added": [row | {"path": "new"}], "changed": [row | {"path": "a b"}],
        "removed": [row | {"path": "old"}], "touched": [],
        "totals": {"added": 1, "changed": 1, "removed": 1, "touched": 0},
        "truncated": False, "next": None,
    }  # fmt: skip

    page = text(alice_web.get(f"{AGENT}/snapshots/compare", {"from": snapshot.pk, "to": later.pk}))

    assert page.count("Restore…</a>") == 2
    assert f"{snapshot.pk}/restore-file?path=a%20b" in page
    assert page.count('data-when="second"') == 2, "two of one minute are told apart"
