"""Points in time of a workspace: the list, taking one, going back to one, deleting one."""

import pytest
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.snapshots.models import Restore, Snapshot

PAGE = "/acme/agents/heron/snapshots"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def made(agent):
    Agent.objects.filter(pk=agent.pk).update(workspace_made_at=now())
    agent.refresh_from_db()
    return agent


@pytest.fixture
def keep(made):
    def snapshot(**changes) -> Snapshot:
        columns = {
            "requested_by": "Alice", "release": 1, "disk_gib": 5, "status": "done",
            "on_node": True, "taken_at": now(), "manifest_sha256": "a" * 64, "files": 12,
            "bytes": 3 * 1024**2,
        }  # fmt: skip
        return Snapshot.objects.create(agent=made, **columns | changes)

    return snapshot


def text(response) -> str:
    return " ".join(response.content.decode().split())


def test_before_the_first_the_page_says_what_one_is_good_for(alice_web, made):
    shown = text(alice_web.get(PAGE))

    assert "No point in time yet" in shown
    assert f'hx-get="{PAGE}/take"' in shown


def test_without_a_workspace_there_is_nothing_to_take(alice_web, agent):
    shown = text(alice_web.get(PAGE))

    assert "heron has no workspace yet" in shown
    assert "Take the first one" not in shown


def test_one_is_taken_with_a_note(alice_web, made):
    response = alice_web.post(f"{PAGE}/take", {"note": "before <b>"})

    assert (response.status_code, response["Location"]) == (303, PAGE)
    assert Snapshot.objects.get().note == "before <b>"
    assert "before &lt;b&gt;" in text(alice_web.get(PAGE))


def test_a_refused_one_says_why(alice_web, agent):
    response = alice_web.post(f"{PAGE}/take", {"note": ""}, headers=HTMX)

    assert response.status_code == 422
    assert "heron has no workspace yet" in text(response)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"verified_at": now()}, "on the node and off-site, compared"),
        ({"verified_at": now(), "on_node": False}, "off-site, compared"),
        ({}, "· only on the node</p>"),
        ({"origin": "before_upgrade"}, "· only on the node</p>"),
        (
            {"status": "failed", "message": "The store is full."},
            "The store is full. Compare or restore it from the node",
        ),
        (
            {"status": "failed", "message": "No room.", "on_node": False, "manifest_sha256": ""},
            "No room. There is nothing in it to restore. Delete it, and take another.",
        ),
        ({"origin": "before_restore"}, "Before a restore"),
        ({}, "3.0 MiB in 12 files · release 1"),
    ],
)
def test_a_line_says_where_it_lies_and_what_to_do(alice_web, keep, columns, words):
    keep(**columns)

    assert words in text(alice_web.get(PAGE))


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("", "Waiting for its node"),
        ("copying", "Copying"),
        ("listing", "Listing its files"),
        ("shipping", "Shipping off-site"),
        ("reading_back", "Reading the off-site copy back"),
    ],
)
def test_a_line_is_asked_for_again_while_it_is_under_way(alice_web, keep, step, words):
    one = keep(status="running", step=step)
    row = f"{PAGE}/{one.pk}/row"

    assert f'hx-get="{row}" hx-trigger="every 1s"' in text(alice_web.get(PAGE))
    part = text(alice_web.get(row, headers=HTMX))
    assert part.startswith(f'<li class="point" id="{one.pk}" hx-get')
    assert words in part


def test_a_line_that_is_asked_for_again_stays_chosen(alice_web, keep):
    one = keep(status="running", step="shipping")

    part = text(alice_web.get(f"{PAGE}/{one.pk}/row?from=x&to={one.pk}", headers=HTMX))

    assert part.count(" checked>") == 1
    assert 'hx-include="closest form"' in part


def test_a_line_that_is_over_is_asked_for_no_more(alice_web, keep):
    one = keep()

    assert "hx-trigger" not in text(alice_web.get(f"{PAGE}/{one.pk}/row", headers=HTMX))
    Snapshot.objects.all().delete()
    assert alice_web.get(f"{PAGE}/{one.pk}/row", headers=HTMX).status_code == 286


def test_two_that_lie_on_the_node_are_chosen_to_be_compared(alice_web, keep):
    old, away, new = keep(), keep(on_node=False, verified_at=now()), keep()

    shown = text(alice_web.get(PAGE))

    assert f'name="from" value="{old.pk}"' in shown
    assert f'name="from" value="{away.pk}"' not in shown
    checked = [part.partition('value="')[2][:20] for part in shown.split("<input ")
               if " checked>" in part]  # fmt: skip
    assert checked == [new.pk, old.pk]


def test_a_long_list_has_pages(alice_web, keep):
    for _ in range(51):
        keep()

    assert "1 to 50 of 51" in text(alice_web.get(PAGE))
    assert "51 to 51 of 51" in text(alice_web.get(f"{PAGE}?page=2"))


def test_one_is_deleted_after_a_question(alice_web, keep):
    one = keep()

    asked = text(alice_web.get(f"{PAGE}/{one.pk}/delete", headers=HTMX))
    assert "Delete this snapshot?" in asked
    assert "btn-destroy" in asked
    assert Snapshot.objects.exists()

    assert alice_web.post(f"{PAGE}/{one.pk}/delete")["Location"] == PAGE
    assert not Snapshot.objects.kept().exists()


def test_one_that_is_being_restored_is_not_deleted(alice_web, keep, made):
    one = keep()
    Restore.objects.create(agent=made, snapshot=one, requested_by="Alice")

    response = alice_web.post(f"{PAGE}/{one.pk}/delete", headers=HTMX)

    assert response.status_code == 422
    assert "is being put back to a snapshot already" in text(response)
    assert Snapshot.objects.exists()


@pytest.mark.parametrize("part", ["row", "delete", "restore"])
def test_a_stranger_finds_none(charlie_web, keep, part):
    one = keep()

    assert charlie_web.get(f"{PAGE}/{one.pk}/{part}").status_code == 404
    assert charlie_web.post(f"{PAGE}/{one.pk}/{part}").status_code in (404, 405)
    assert Snapshot.objects.exists()
    assert not Restore.objects.exists()


def test_a_viewer_looks_and_changes_nothing(bob_web, keep):
    one = keep()

    shown = text(bob_web.get(PAGE))

    assert "Restore…" not in shown
    assert "Take a snapshot" not in shown
    for part in ("take", f"{one.pk}/delete", f"{one.pk}/restore"):
        assert bob_web.post(f"{PAGE}/{part}").status_code == 403
    assert Snapshot.objects.get() == one
