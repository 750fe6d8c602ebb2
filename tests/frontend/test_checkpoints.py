"""The page that shows how far an agent's work is."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane.agents.models import Agent

PAGE = "/acme/agents/heron/checkpoints"
ROW = {"name": "counter", "saved_at": "2026-01-01T00:00:00Z", "age_s": 420, "sequence": 4,
       "bytes": 2048, "steps_done": 12, "broken": False, "why": "", "put_aside": 0}  # fmt: skip
BROKEN = ROW | {"name": "plan", "saved_at": None, "age_s": None, "sequence": None,
                "steps_done": None, "broken": True, "why": "It is <not> whole."}  # fmt: skip


def text(response) -> str:
    return " ".join(response.content.decode().split())


def says(gateway, *rows, note="") -> None:
    gateway.says["checkpoints"] = {"checkpoints": list(rows), "note": note}


def test_a_checkpoint_has_name_age_steps_and_size(alice_web, agent, gateway):
    # As of now: the whole suite may take longer than these minutes.
    says(gateway, ROW | {"saved_at": (now() - timedelta(minutes=7)).isoformat()})

    shown = text(alice_web.get(PAGE))

    assert '<th scope="row"><code>counter</code></th>' in shown
    assert "7 min ago" in shown
    assert "4 times so far" in shown
    assert '<td data-label="Steps done" class="end num nowrap">12</td>' in shown
    assert "2.0 KiB" in shown
    assert ">broken<" not in shown


def test_a_broken_one_is_told_with_its_reason(alice_web, agent, gateway):
    says(gateway, ROW, BROKEN | {"put_aside": 2})

    shown = text(alice_web.get(PAGE))

    assert "broken</span>" in shown
    assert "It is &lt;not&gt; whole." in shown
    assert "2 broken files of this name put aside" in shown


def test_before_the_first_the_page_teaches_the_habit(alice_web, agent, gateway):
    says(gateway)

    shown = text(alice_web.get(PAGE))

    assert 'roost_state.save("counter", n + 1)' in shown
    assert "docs/state.md" in shown


def test_what_is_odd_about_the_folder_is_said(alice_web, agent, gateway):
    says(gateway, note="The folder is crowded.")

    shown = text(alice_web.get(PAGE))

    assert "The folder is crowded." in shown
    assert "Three lines" not in shown


@pytest.mark.parametrize(("status", "button"), [("stopped", True), ("starting", False)])
def test_an_agent_that_does_not_run_can_be_started_from_here(
    alice_web, agent, gateway, status, button
):
    goal = "stopped" if button else "running"
    Agent.objects.filter(pk=agent.pk).update(status=status, goal=goal)
    said = "heron is not mounted."
    gateway.says["checkpoints"] = (409, {"code": "workspace_not_mounted", "message": said})

    shown = text(alice_web.get(PAGE))

    assert said in shown
    assert ('action="/acme/agents/heron/start"' in shown) == button


def test_a_viewer_is_not_offered_to_start_it(bob_web, agent, gateway):
    Agent.objects.filter(pk=agent.pk).update(status="stopped", goal="stopped")
    gateway.says["checkpoints"] = (409, {"code": "workspace_not_mounted", "message": "No."})

    assert 'action="/acme/agents/heron/start"' not in text(bob_web.get(PAGE))


def test_a_silent_gateway_leaves_the_page(alice_web, agent, settings):
    settings.GATEWAY_URL = "http://127.0.0.1:1"

    shown = text(alice_web.get(PAGE))

    assert "Checkpoints cannot be shown right now." in shown


def test_the_list_is_asked_for_again_by_itself(alice_web, agent, gateway):
    says(gateway, ROW)

    part = text(alice_web.get(PAGE, headers={"HX-Request": "true"}))

    assert part.startswith('<div class="stack" id="checkpoints" hx-get="' + PAGE)
    assert "<html" not in part
