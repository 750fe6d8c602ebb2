"""A new agent that begins as a snapshot of another."""

import pytest
from django.utils.timezone import now

from controlplane.agents.actions import update_agent
from controlplane.agents.models import Agent
from controlplane.keys.actions import add_secret, revoke_key, revoke_secret
from controlplane.snapshots.models import Snapshot
from frontend.forms.forking import usual_name

PAGE = "/acme/agents/heron/snapshots"


@pytest.fixture
def one(agent) -> Snapshot:
    return Snapshot.objects.create(
        agent=agent, requested_by="Alice", release=1, disk_gib=5, status="done", on_node=True,
        taken_at=now(), manifest_sha256="a" * 64,
    )  # fmt: skip


@pytest.fixture
def bot(as_alice):
    return add_secret(as_alice, name="BOT_TOKEN", kind="env", value="a-bots-token-1234")


def text(response) -> str:
    return " ".join(response.content.decode().split())


def test_one_on_the_node_is_offered(alice_web, one):
    assert f'href="{PAGE}/{one.pk}/fork"' in text(alice_web.get(PAGE))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"on_node": False, "verified_at": now()}, "only off-site. Restore it first."),
        ({"manifest_sha256": "", "status": "running"}, "It is still being made."),
        ({"manifest_sha256": "", "status": "failed", "message": "No room."}, "No room."),
    ],
)
def test_one_that_cannot_be_used_says_why(alice_web, one, columns, words):
    Snapshot.objects.filter(pk=one.pk).update(**columns)

    assert "Fork…" not in text(alice_web.get(PAGE))
    shown = text(alice_web.get(f"{PAGE}/{one.pk}/fork"))
    assert words in shown
    assert 'name="name"' not in shown
    refused = alice_web.post(f"{PAGE}/{one.pk}/fork", {"name": "wren"})
    assert refused.status_code == 422
    assert words in text(refused)
    assert Agent.objects.count() == 1


def test_the_page_says_what_happens(alice_web, one):
    shown = text(alice_web.get(f"{PAGE}/{one.pk}/fork"))

    assert 'value="heron-fork"' in shown
    assert "It takes over no secrets" in shown
    assert "the settings of release 1" in shown


@pytest.mark.parametrize(
    ("revoked", "words", "model"),
    [
        (False, "the model claude-x and its key anthropic-test", "claude-x"),
        (
            True,
            "its key anthropic-test is revoked, so it begins with the stand-in model",
            "standin",
        ),
    ],
)
def test_the_key_of_its_release_is_taken_over_while_it_is_good(
    alice_web, as_alice, agent, one, key, revoked, words, model
):
    update_agent(as_alice, agent, key=key.pk, model="claude-x", egress="open")
    Snapshot.objects.filter(pk=one.pk).update(release=2)
    if revoked:
        revoke_key(as_alice, key)

    assert words in text(alice_web.get(f"{PAGE}/{one.pk}/fork"))
    assert alice_web.post(f"{PAGE}/{one.pk}/fork", {"name": "wren"}).status_code == 303
    release = Agent.objects.get(name="wren").release
    assert release.model == model
    assert (release.key == key) is not revoked


def test_a_fork_has_no_secret_unless_it_is_chosen(alice_web, as_alice, agent, one, bot):
    update_agent(as_alice, agent, secrets=[bot.pk])
    assert "heron has it" in text(alice_web.get(f"{PAGE}/{one.pk}/fork"))

    response = alice_web.post(f"{PAGE}/{one.pk}/fork", {"name": "wren"})

    assert (response.status_code, response["Location"]) == (303, "/acme/agents/wren")
    wren = Agent.objects.get(name="wren")
    assert wren.origin == one.pk
    assert not wren.release.secrets.exists()


def test_a_chosen_secret_is_given(alice_web, one, bot):
    alice_web.post(f"{PAGE}/{one.pk}/fork", {"name": "wren", "secrets": [bot.pk]})

    assert list(Agent.objects.get(name="wren").release.secrets.all()) == [bot]


def test_a_revoked_secret_is_not_to_be_chosen(alice_web, as_alice, one, bot):
    revoke_secret(as_alice, bot)

    response = alice_web.post(f"{PAGE}/{one.pk}/fork", {"name": "wren", "secrets": [bot.pk]})

    assert response.status_code == 422
    assert not Agent.objects.filter(name="wren").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("heron", "You already have an agent called heron."),
        ("He ron", "A name has 1 to 63 lower-case letters"),
        ("", "Give it a name."),
    ],
)
def test_an_impossible_name_is_told_at_its_field(alice_web, one, name, words):
    response = alice_web.post(f"{PAGE}/{one.pk}/fork", {"name": name})

    assert response.status_code == 422
    assert words in text(response).partition('id="id_name_error"')[2]
    assert Agent.objects.count() == 1


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"agent_limit": 1}, "may have 1 agents and has them"),
        ({"paused_reason": "unpaid"}, "paused"),
    ],
)
def test_what_the_organisation_may_not_is_told_above(alice_web, acme, one, columns, words):
    type(acme).objects.filter(pk=acme.pk).update(**columns)

    response = alice_web.post(f"{PAGE}/{one.pk}/fork", {"name": "wren"})

    assert response.status_code == 422
    assert "No agent was made." in text(response)
    assert words in text(response)


@pytest.mark.parametrize(
    ("source", "name"), [("heron", "heron-fork"), ("a" * 57 + "-bcdef", "a" * 57 + "-fork")]
)
def test_the_usual_name_is_a_possible_one(source, name):
    assert usual_name(source) == name
