"""The page of an agent's releases: the history, a newer version, an upgrade as it happens."""

import pytest
from django.db.models import F
from django.utils.timezone import now

from controlplane.agents import releases
from controlplane.agents.actions import update_agent
from controlplane.agents.models import Release
from controlplane.upgrades.models import UPGRADE, Halt, Upgrade

PAGE = "/acme/agents/heron/releases"
HTMX = {"HX-Request": "true"}
NEXT = "roost/hermes:next"


@pytest.fixture
def up(agent):
    type(agent).objects.update(
        status="running", workspace_made_at=now(), observed_generation=F("generation")
    )
    agent.refresh_from_db()
    return agent


@pytest.fixture
def newer(up, monkeypatch):
    monkeypatch.setattr(releases, "image_of", lambda runtime: NEXT)


def made(agent, **columns) -> Upgrade:
    given = {
        "agent": agent, "requested_by": "Alice", "from_image": "a", "from_version": "0.18.0",
        "to_image": NEXT, "to_version": "0.19.0",
    }  # fmt: skip
    return Upgrade.objects.create(**given | columns)


def over(agent, outcome, **columns) -> Upgrade:
    return made(agent, status="failed", outcome=outcome, finished_at=now(), **columns)


def text(response) -> str:
    return response.content.decode()


def test_the_history_says_who_why_and_what(alice_web, as_alice, up):
    update_agent(as_alice, up, size="medium")

    shown = text(alice_web.get(PAGE))

    assert "Settings changed" in shown
    assert "Memory: <span" in shown
    assert "512 MB</span> → 2 GB" in shown
    assert f'href="{PAGE}/1/back"' in shown
    assert f'href="{PAGE}/2/back"' not in shown
    assert "by Alice" in shown


def test_the_newest_version_offers_nothing(alice_web, up):
    assert "Update available" not in text(alice_web.get(PAGE))


def test_a_newer_one_is_offered_with_one_button(alice_web, newer):
    shown = text(alice_web.get(PAGE))

    assert "Update available" in shown
    assert "Hermes 0.19.0 → 0.19.0, built anew" in shown
    assert "0.19.0 is available" in text(alice_web.get("/acme/agents/heron"))


def test_the_button_starts_an_upgrade_and_leads_to_it(alice_web, newer):
    response = alice_web.post(f"{PAGE}/upgrade", {})

    upgrade = Upgrade.objects.get()
    assert (response.status_code, upgrade.to_image) == (303, NEXT)
    assert response["Location"] == f"/acme/agents/heron/upgrades/{upgrade.pk}"
    shown = text(alice_web.get(response["Location"]))
    assert "Queued: 0.19.0" in shown
    assert "Update available" not in shown


def test_a_refusal_is_said(alice_web, up):
    response = alice_web.post(f"{PAGE}/upgrade", {}, follow=True)

    assert "runs the newest image" in text(response)
    assert not Upgrade.objects.exists()


def test_while_it_runs_its_steps_are_shown_and_asked_for_again(alice_web, up):
    upgrade = made(up, status="running", step="listing")

    shown = text(alice_web.get(PAGE))

    address = f"/acme/agents/heron/upgrades/{upgrade.pk}"
    assert f'hx-get="{address}" hx-trigger="every 1s"' in shown
    assert "Upgrading from 0.18.0 to 0.19.0" in shown
    assert shown.count('<li class="step is-ok">') == 1
    assert '<li class="step is-busy">' in shown
    part = text(alice_web.get(address, headers=HTMX))
    assert part.strip().startswith('<div id="releases"')


def test_on_the_way_back_it_says_why(alice_web, up):
    made(up, status="running", step="restoring", message="It ended <again>.")

    shown = text(alice_web.get(PAGE))

    assert "Going back to 0.18.0" in shown
    assert "It ended &lt;again&gt;." in shown


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("rolled_back", "was rolled back"),
        ("rollback_failed", "could not be rolled back"),
        ("not_run", "was not begun"),
        ("unjudged", "was not judged"),
        ("", "was given up"),
    ],
)
def test_each_outcome_is_told_with_its_reason(alice_web, up, outcome, said):
    over(up, outcome, message="The reason.")

    shown = text(alice_web.get(PAGE))

    assert said in shown
    assert "The reason." in shown


def test_lost_keys_are_named_and_escaped(alice_web, up):
    over(
        up, "rolled_back", config_lost=[{"file": "a.yaml", "key": "<b>"}, {"file": "b", "key": ""}]
    )

    shown = text(alice_web.get(PAGE))

    assert "<code>&lt;b&gt;</code>" in shown
    assert "the whole file" in shown


def test_a_version_that_failed_says_so_and_wants_a_word(alice_web, newer, up):
    over(up, "rolled_back", message="It ended.")

    shown = text(alice_web.get(PAGE))
    assert "This upgrade failed" in shown
    assert 'name="force" required' in shown

    alice_web.post(f"{PAGE}/upgrade", {"force": "on"})
    assert Upgrade.objects.under_way().get().force


def test_one_on_hold_has_no_button(alice_web, newer):
    Halt.objects.create(image=NEXT, runtime="hermes", version="1", since=now(), reason="Bad.")

    shown = text(alice_web.get(PAGE))

    assert "on hold since" in shown
    assert "Upgrade</button>" not in shown


def test_going_back_is_asked_and_done(alice_web, as_alice, up):
    update_agent(as_alice, up, size="medium")

    asked = text(alice_web.get(f"{PAGE}/1/back", headers=HTMX))
    assert "Go back to release 1?" in asked
    assert 'name="force"' not in asked

    response = alice_web.post(f"{PAGE}/1/back", {})
    assert response["Location"] == PAGE
    assert Release.objects.get(number=3).size == "small"


def test_going_back_to_another_version_is_watched(alice_web, as_alice, up):
    update_agent(as_alice, up, size="medium")
    Release.objects.filter(number=1).update(image="roost/hermes:old", runtime_version="0.18.0")
    type(up).objects.update(observed_generation=F("generation"))

    assert "It runs version 0.18.0 then" in text(alice_web.get(f"{PAGE}/1/back"))
    alice_web.post(f"{PAGE}/1/back", {"force": "on"})

    upgrade = Upgrade.objects.get()
    assert (upgrade.back_to, upgrade.to_version, upgrade.force) == (1, "0.18.0", True)


def test_going_back_that_is_refused_says_why(alice_web, up):
    response = alice_web.post(f"{PAGE}/1/back", {})

    assert response.status_code == 422
    assert "just as release 1" in text(response)


def test_a_release_that_is_not_there(alice_web, up):
    assert alice_web.get(f"{PAGE}/7/back").status_code == 404


def test_a_viewer_looks_and_changes_nothing(bob_web, newer):
    shown = text(bob_web.get(PAGE))

    assert "may look but not upgrade" in shown
    assert "Go back…" not in shown
    assert bob_web.post(f"{PAGE}/upgrade", {}).status_code == 403
    assert not Upgrade.objects.exists()


def test_an_upgrade_that_went_wrong_both_ways_alarms_until_it_runs(alice_web, up):
    up.conditions.create(
        type=UPGRADE, status=False, reason="rollback_failed", message="Look.", since=now()
    )
    type(up).objects.update(status="failed")
    assert "could not be rolled back" in text(alice_web.get("/acme/agents/heron"))

    type(up).objects.update(status="running")
    assert "could not be rolled back" not in text(alice_web.get("/acme/agents/heron"))
