"""Trial restores in the dashboard: the organisation's page, and what agents' pages say of them."""

import pytest
from django.utils.timezone import now

from controlplane.agents.conditions import set_condition
from controlplane.snapshots.models import Snapshot
from controlplane.trials.models import TrialPlan, TrialRestore
from tests.frontend.conftest import signed_in

PAGE = "/acme/trial-restores"


@pytest.fixture
def shipped(agent) -> Snapshot:
    return Snapshot.objects.create(
        agent=agent, requested_by="Alice", release=1, disk_gib=5, status="done", taken_at=now(),
        manifest_sha256="a" * 64, offsite_id="b" * 64, verified_at=now(),
    )  # fmt: skip


@pytest.fixture
def tried(shipped):
    def trial(**columns) -> TrialRestore:
        usual = {"requested_by": "the plan", "status": "done", "outcome": "equal"}
        usual |= {"files": 12, "bytes": 3 * 1024**2, "took_ms": 2100}
        return TrialRestore.objects.create(
            organisation=shipped.agent.organisation, agent=shipped.agent, snapshot=shipped,
            **usual | columns,
        )  # fmt: skip

    return trial


def text(response) -> str:
    return " ".join(response.content.decode().split())


def test_before_the_first_the_page_says_what_one_is_good_for(alice_web, agent):
    shown = text(alice_web.get(PAGE))

    assert "Not tried yet" in shown
    assert "no snapshot off-site yet" in shown
    assert "Try one now" not in shown


def test_one_is_started(alice_web, shipped):
    assert "Try one now" in text(alice_web.get(PAGE))

    response = alice_web.post(PAGE)

    assert (response.status_code, response["Location"]) == (303, PAGE)
    assert TrialRestore.objects.get().snapshot == shipped
    shown = text(alice_web.get(PAGE))
    assert 'hx-trigger="every 2s"' in shown
    assert "Try one now" not in shown


def test_a_refused_one_says_why(alice_web, tried):
    tried(status="running", outcome="")

    assert "under way already" in text(alice_web.post(PAGE, follow=True))


def test_a_viewer_may_look_and_not_start(bob_web, tried):
    tried()

    assert "Try one now" not in text(bob_web.get(PAGE))
    assert bob_web.post(PAGE).status_code == 403
    assert TrialRestore.objects.count() == 1


def test_strangers_find_no_page(charlie, tried, umbrella):
    tried()

    assert signed_in(charlie).get(PAGE).status_code == 404


def test_what_came_of_one_is_shown(alice_web, tried, acme, shipped):
    tried()
    TrialPlan.objects.create(organisation=acme, rule="x", next_at=now())

    shown = text(alice_web.get(PAGE))

    assert "As it was" in shown
    assert "3.0 MiB in 12 files" in shown
    assert "2.1 s" in shown
    assert shipped.pk in shown
    assert "The next on" in shown


def test_what_differs_is_shown_and_never_run_as_markup(alice_web, tried):
    tried(outcome="differs", message="a<b", differences=[{"path": "<i>", "what": "changed"}])

    shown = text(alice_web.get(PAGE))

    assert "Not as it was" in shown
    assert "a&lt;b" in shown
    assert "&lt;i&gt;" in shown


def test_the_agents_page_and_its_snapshots_speak_of_it(alice_web, tried, agent):
    tried(outcome="differs", message="gone")
    set_condition(agent, "TrialRestore", status=False, reason="x", message="It is <gone>.")

    shown = text(alice_web.get("/acme/agents/heron"))
    assert "not what it was.</b> It is &lt;gone&gt;." in shown
    assert f'href="{PAGE}">not as it was</a>, a snapshot of heron' in text(
        alice_web.get("/acme/agents/heron/snapshots")
    )


def test_the_list_of_agents_has_the_last_one_that_says_something(alice_web, tried):
    assert PAGE not in text(alice_web.get("/acme/agents"))

    tried()
    tried(outcome="not_run", status="failed")

    assert "Last trial restore in Acme: " in text(alice_web.get("/acme/agents"))
    assert ">as it was</a>" in text(alice_web.get("/acme/agents"))


def test_before_the_first_an_agents_snapshots_lead_to_the_page(alice_web, shipped):
    assert f'<a href="{PAGE}">trial restores</a>' in text(
        alice_web.get("/acme/agents/heron/snapshots")
    )
