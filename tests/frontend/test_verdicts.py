"""The top of an agent's page, for every status."""

from collections.abc import Hashable

import pytest
from django.http import HttpRequest
from django.test import Client, RequestFactory

from controlplane.agents.conditions import set_condition
from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.models import Agent
from controlplane.agents.timeline import tell
from controlplane.tenants.access import Access
from frontend.templatetags.nouns import condition_title
from frontend.verdicts import TITLES, needs, status_of, verdict_of
from frontend.views.overview import AgentParts
from provisioner import conditions

SEEN = {"observed_generation": 1, "observed_release": 1}


def buttons(agent: Agent) -> list[str]:
    return [button.label for button in verdict_of(agent, may_write=True).buttons]


@pytest.mark.parametrize("status", list(Status))
def test_every_status_is_drawn(alice_web: Client, agent: Agent, status: str) -> None:
    Agent.objects.update(status=status, message="Because of the weather.", **SEEN)

    page = alice_web.get("/acme/agents/heron").content.decode()

    assert "Because of the weather." in page
    assert page.count('id="verdict"') == 1
    assert page.count("btn-primary") <= 1


@pytest.mark.parametrize(
    ("goal", "status", "seen", "shown"),
    [
        (Goal.RUNNING, Status.STOPPED, 0, Status.PENDING),
        (Goal.RUNNING, Status.FAILED, 0, Status.PENDING),
        (Goal.STOPPED, Status.RUNNING, 0, Status.STOPPING),
        (Goal.STOPPED, Status.STARTING, 0, Status.STOPPING),
        (Goal.RUNNING, Status.RUNNING, 0, Status.RESTARTING),
        (Goal.STOPPED, Status.RUNNING, 1, Status.RUNNING),
        (Goal.RUNNING, Status.FAILED, 1, Status.FAILED),
    ],
)
def test_a_wish_no_worker_has_seen_is_under_way(
    agent: Agent, goal: str, status: str, seen: int, shown: str
) -> None:
    agent.goal, agent.status, agent.observed_generation = goal, status, seen

    assert status_of(agent) == shown


def test_out_of_memory_offers_the_next_size(agent: Agent) -> None:
    agent.status, agent.reason, agent.observed_generation = "crash_looping", "out_of_memory", 1

    assert buttons(agent) == ["Resize to Medium and start", "Try again as it is"]


@pytest.mark.parametrize("status", ["crash_looping", "failed"])
def test_a_full_disk_is_mended_in_the_settings(agent: Agent, status: str) -> None:
    agent.status, agent.observed_generation, agent.disk_level = status, 1, "full"

    assert buttons(agent) == ["Open settings", "Try again as it is", "See the log"]


@pytest.mark.parametrize(
    ("status", "reason", "labels"),
    [
        ("waiting", "key_gone", ["Open settings", "Open keys"]),
        ("failed", "settings_unfit", ["Open settings", "See the log"]),
        ("failed", "isolation_missing", ["Open settings"]),
        ("starting", "set_up_failed", ["Cancel", "See the log"]),
        ("waiting", "vault_sealed", []),
    ],
)
def test_a_reason_offers_what_mends_it(
    agent: Agent, status: str, reason: str, labels: list[str]
) -> None:
    agent.status, agent.reason, agent.observed_generation = status, reason, 1

    assert buttons(agent) == labels


def test_a_link_leads_to_the_page_that_mends_it(alice_web: Client, agent: Agent) -> None:
    Agent.objects.update(status="waiting", reason="key_gone", **SEEN)

    page = alice_web.get("/acme/agents/heron").content.decode()

    verdict = page.split('id="verdict"')[1].split("</section>")[0]
    assert 'class="btn btn-primary" href="/acme/agents/heron/settings"' in verdict
    assert 'href="/acme/keys"' in verdict


def test_who_waits_for_its_turn_is_queued_and_says_why(agent: Agent) -> None:
    agent.status, agent.reason, agent.observed_generation = "waiting", "boot_queue", 1
    agent.message = "Other agents are starting on its node just now."

    verdict = verdict_of(agent, may_write=True)

    assert (verdict.look.word, verdict.why) == ("Queued", agent.message)
    assert not needs(agent)


def test_who_waits_for_a_key_waits_for_somebody(alice_web: Client, agent: Agent) -> None:
    Agent.objects.update(status="waiting", reason="key_gone", **SEEN)

    page = alice_web.get("/acme/agents").content.decode()

    assert "One waits for a decision." in page
    assert "Open settings" in page


def test_the_largest_size_offers_to_try_again(agent: Agent) -> None:
    agent.status, agent.reason, agent.observed_generation = "crash_looping", "out_of_memory", 1
    assert agent.release is not None
    agent.release.memory_mb = 4096

    assert buttons(agent) == ["Start again", "See the log"]


@pytest.mark.parametrize("status", list(Status))
def test_every_status_has_a_title(status: Status) -> None:
    assert TITLES[status]


@pytest.mark.parametrize("kind", conditions.TYPES)
def test_every_condition_has_a_title(kind: str) -> None:
    assert condition_title(kind) != kind


def test_a_viewer_has_no_buttons(agent: Agent) -> None:
    agent.status = "failed"

    assert verdict_of(agent, may_write=False).buttons == ()


def test_the_timeline_shows_text_as_text_and_pages(alice_web: Client, agent: Agent) -> None:
    for at in range(40):
        tell(agent, "changed", f"<script>{at}</script>")

    page = alice_web.get("/acme/agents/heron").content.decode()
    assert "&lt;script&gt;39&lt;/script&gt;" in page
    assert "<script>39" not in page
    oldest = page.split("?before=")[1].split("#")[0]
    older = alice_web.get(f"/acme/agents/heron?before={oldest}").content.decode()
    assert "&lt;script&gt;3&lt;/script&gt;" in older
    assert "&lt;script&gt;39&lt;/script&gt;" not in older


@pytest.mark.parametrize("before", ["x", "-1", "9" * 30, "%00"])
def test_a_nonsense_page_of_the_timeline_is_no_error(
    alice_web: Client, agent: Agent, before: str
) -> None:
    assert alice_web.get(f"/acme/agents/heron?before={before}").status_code == 200


def changes(parts: AgentParts, before: dict[str, Hashable]) -> dict[str, str]:
    now = parts.look()
    return dict(parts.draw({name for name in now if before.get(name) != now[name]}))


def test_only_what_changed_is_drawn_again(
    rf: RequestFactory, agent: Agent, as_alice: Access
) -> None:
    parts = AgentParts(_request(rf, as_alice), as_alice, agent.pk)
    before = dict(parts.look())
    Agent.objects.update(status="running", **SEEN)

    drawn = changes(parts, before)

    assert set(drawn) == {"actions", "verdict", "progress"}
    assert "Running, and answering" in drawn["verdict"]


def test_an_agent_deleted_meanwhile_says_so(
    rf: RequestFactory, agent: Agent, as_alice: Access
) -> None:
    parts = AgentParts(_request(rf, as_alice), as_alice, agent.pk)
    before = dict(parts.look())
    Agent.objects.update(goal=Goal.DELETED)

    assert "This agent was deleted while you looked at it" in changes(parts, before)["verdict"]


def _request(rf: RequestFactory, access: Access) -> HttpRequest:
    request = rf.get("/")
    request.user = access.user
    return request


def test_a_row_that_is_older_than_what_is_there_is_told_until_it_is_settled(alice_web, agent):
    said = "Its container has release 5, <which> the database does not know."
    set_condition(agent, "RowIsCurrent", status=False, reason="release_unknown", message=said)
    shown = alice_web.get("/acme/agents/heron").content.decode()
    assert "does not fit what is written down.</b> Its container has release 5, &lt;which" in shown

    set_condition(agent, "RowIsCurrent", status=True, reason="as_written", message="")
    shown = alice_web.get("/acme/agents/heron").content.decode()
    assert "does not fit what is written down" not in shown
