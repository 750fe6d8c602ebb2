"""What somebody else did to an agent's container is healed, and the timeline says what it was."""

from dataclasses import replace

import pytest

from controlplane.agents import actions

pytestmark = pytest.mark.django_db(transaction=True)


def told(agent) -> list[str]:
    return [event.title for event in agent.events.filter(kind="meddled")]


def test_a_container_that_was_removed(running, go, engine, container):
    del engine.kept[container]

    assert go(running).status == "running"
    assert told(running) == ["Its container was removed, not by Roost"]


@pytest.mark.parametrize(
    ("change", "title"),
    [
        ({"state": "paused"}, "Its container was paused, not by Roost"),
        ({"connected": False}, "Its network was taken away, not by Roost"),
    ],
)
def test_a_container_that_was_changed(running, go, engine, container, change, title):
    engine.kept[container] = replace(engine.kept[container], **change)

    assert go(running).status == "running"
    assert told(running) == [title]


def test_what_people_wished_is_no_meddling(running, go, as_alice):
    actions.restart_agent(as_alice, running)

    assert go(running).status == "running"
    assert told(running) == []
