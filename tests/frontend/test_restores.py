"""Going back to a snapshot: what the page says, what it asks, and how far it is."""

import pytest
from django.utils.timezone import now

from controlplane.agents.actions import create_agent
from controlplane.snapshots.models import Restore, Snapshot

AGENT = "/acme/agents/heron"


@pytest.fixture
def snapshot(agent) -> Snapshot:
    return Snapshot.objects.create(
        agent=agent, requested_by="Alice", release=1, disk_gib=5, status="done", on_node=True,
        taken_at=now(), manifest_sha256="a" * 64, files=12, bytes=3 * 1024**2, note="<b>good",
    )  # fmt: skip


@pytest.fixture
def page(snapshot) -> str:
    return f"{AGENT}/snapshots/{snapshot.pk}/restore"


@pytest.fixture
def restore(agent, snapshot):
    def make(**changes) -> Restore:
        columns = {"agent": agent, "snapshot": snapshot, "requested_by": "Alice"}
        return Restore.objects.create(**columns | changes)

    return make


def text(response) -> str:
    return " ".join(response.content.decode().split())


def test_the_page_says_what_happens(alice_web, page):
    shown = text(alice_web.get(page))

    assert "heron stops" in shown
    assert "What is there now is kept as a snapshot" in shown
    assert "heron starts again" in shown
    assert 'data-confirm="heron"' in shown
    assert "&lt;b&gt;good" in shown


def test_a_stopped_agent_stays_stopped(alice_web, agent, page):
    agent.goal = "stopped"
    agent.save()

    assert "heron stays stopped" in text(alice_web.get(page))


@pytest.mark.parametrize("typed", ["", "Heron", "other"])
def test_without_the_name_nothing_happens(alice_web, page, typed):
    response = alice_web.post(page, {"confirm": typed})

    assert response.status_code == 422
    assert "That is not the name of this agent" in text(response)
    assert not Restore.objects.exists()


def test_with_the_name_it_begins_and_is_shown(alice_web, page):
    response = alice_web.post(page, {"confirm": "heron"})

    made = Restore.objects.get()
    assert response["Location"] == f"{AGENT}/restores/{made.pk}"
    assert made.requested_by == "Alice"


def test_while_another_is_under_way_the_page_says_so(alice_web, page, restore):
    other = restore()

    shown = text(alice_web.get(page))
    assert "Another restore is under way" in shown
    assert f"{AGENT}/restores/{other.pk}" in shown
    assert alice_web.post(page, {"confirm": "heron"}).status_code == 422
    assert Restore.objects.get() == other


def test_one_that_is_not_usable_says_why(alice_web, page):
    Snapshot.objects.update(manifest_sha256="", message="The pool was full.")

    assert "The pool was full." in text(alice_web.get(page))
    assert alice_web.post(page, {"confirm": "heron"}).status_code == 422


@pytest.mark.parametrize(
    ("columns", "words", "again"),
    [
        ({}, "Waiting for its node", True),
        ({"status": "running", "step": "checking"}, "Checking the copy, file by file", True),
        ({"status": "running", "step": "replacing"}, "Stopping the agent", True),
        ({"status": "failed", "message": "A <disk> failed."}, "A &lt;disk&gt; failed.", False),
        ({"status": "done"}, "The workspace is as it was at", False),
    ],
)
def test_how_far_it_is(alice_web, restore, columns, words, again):
    one = restore(**columns)

    part = text(alice_web.get(f"{AGENT}/restores/{one.pk}", headers={"HX-Request": "true"}))

    assert part.startswith("<section")
    assert words in part
    assert ('hx-trigger="every 1s"' in part) == again


def test_a_done_one_leads_to_what_it_replaced(alice_web, agent, restore):
    one = restore(status="done")
    kept = Snapshot.objects.create(
        pk=one.keep_as, agent=agent, requested_by="Alice", release=1, disk_gib=5
    )

    assert f"{AGENT}/snapshots#{kept.pk}" in text(alice_web.get(f"{AGENT}/restores/{one.pk}"))


def test_the_list_tells_of_one_under_way(alice_web, restore):
    one = restore()

    assert f'href="{AGENT}/restores/{one.pk}"' in text(alice_web.get(f"{AGENT}/snapshots"))


def test_another_agents_snapshot_and_restore_are_not_there(alice_web, as_alice, snapshot, restore):
    create_agent(as_alice, name="other", runtime="hermes")
    one = restore()

    for part in (f"snapshots/{snapshot.pk}/restore", f"restores/{one.pk}"):
        assert alice_web.get(f"/acme/agents/other/{part}").status_code == 404


def test_a_stranger_finds_none(charlie_web, restore):
    assert charlie_web.get(f"{AGENT}/restores/{restore().pk}").status_code == 404
