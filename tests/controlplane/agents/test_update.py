"""Changing an agent: what makes a release, what does not, and who comes too late."""

import pytest

from controlplane.agents.actions import create_agent, delete_agent, stop_agent, update_agent
from controlplane.agents.errors import (
    AgentChanged,
    AgentDeleted,
    AgentNameTaken,
    ImpossibleSetting,
    MemoryLimitReached,
    UnknownKey,
)
from controlplane.agents.models import Agent, Release
from controlplane.audit.models import AuditEvent
from controlplane.keys.actions import add_key, revoke_key
from tests.controlplane.looking import everything

pytestmark = pytest.mark.django_db


def patch(api, agent, body, etag=None):
    headers = {"If-Match": etag} if etag else {}
    path = f"/api/v1/orgs/{agent.organisation_id}/agents/{agent.pk}"
    return api.patch(path, body, "json", headers=headers)


def test_a_new_name_makes_no_release(as_alice, agent):
    changed = update_agent(as_alice, agent, name="ranger")

    assert (changed.name, changed.release.number) == ("ranger", 1)
    assert changed.generation == agent.generation + 1
    assert AuditEvent.objects.filter(action="agent.renamed", target=agent.pk).count() == 1


def test_a_taken_name_is_refused(as_alice, agent):
    create_agent(as_alice, name="ranger", runtime="hermes")
    before = everything()

    with pytest.raises(AgentNameTaken):
        update_agent(as_alice, agent, name="ranger")
    assert everything() == before


def test_its_own_name_is_not_taken(as_alice, agent):
    assert update_agent(as_alice, agent, name="scout").name == "scout"
    assert not AuditEvent.objects.filter(action="agent.renamed").exists()


def test_the_name_of_a_deleted_agent_is_free(as_alice, agent):
    delete_agent(as_alice, create_agent(as_alice, name="ranger", runtime="hermes"))

    assert update_agent(as_alice, agent, name="ranger").name == "ranger"


def test_every_changed_spec_is_the_next_release(as_alice, agent):
    for number, change in enumerate([{"size": "medium"}, {"model": "claude-x"}], start=2):
        assert update_agent(as_alice, agent, **change).release.number == number

    assert list(agent.releases.order_by("number").values_list("number", flat=True)) == [1, 2, 3]
    assert agent.releases.get(number=1).size == "small"


def test_what_changes_nothing_makes_no_release(as_alice, agent):
    update_agent(as_alice, agent, size="small", egress="open")

    assert Release.objects.count() == 1


def test_another_key_brings_its_provider_and_a_model_of_it(as_alice, agent):
    other = add_key(as_alice, name="other", provider="openai", value="sk-0123456789abcdef")

    release = update_agent(as_alice, agent, key=other.pk).release

    assert (release.key, release.provider) == (other, "openai")
    assert not release.model.startswith("claude")


def test_another_key_of_the_same_provider_keeps_the_model(as_alice, agent):
    update_agent(as_alice, agent, model="claude-special")
    other = add_key(as_alice, name="other", provider="anthropic", value="sk-ant-0123456789abcd")

    assert update_agent(as_alice, agent, key=other.pk).release.model == "claude-special"


def test_a_revoked_key_is_not_chosen(as_alice, agent):
    other = add_key(as_alice, name="other", provider="openai", value="sk-0123456789abcdef")
    revoke_key(as_alice, other)
    before = everything()

    with pytest.raises(UnknownKey):
        update_agent(as_alice, agent, key=other.pk)
    assert everything() == before


def test_an_agent_with_a_far_provider_stays_open(as_alice, agent):
    with pytest.raises(ImpossibleSetting, match="Choose open"):
        update_agent(as_alice, agent, egress="none")
    assert agent.releases.get().egress == "open"


def test_an_opened_agent_leaves_its_list_behind(as_alice, agent):
    update_agent(as_alice, agent, egress="list", egress_hosts=["api.github.com"])
    opened = update_agent(as_alice, agent, egress="open")

    assert opened.release.egress_hosts == []
    with pytest.raises(ImpossibleSetting, match="egress 'list' only"):
        update_agent(as_alice, agent, egress_hosts=["api.github.com"])


def test_growing_counts_only_the_difference(as_alice, agent, acme):
    type(acme).objects.update(memory_mb_limit=2048)
    assert update_agent(as_alice, agent, size="medium").release.memory_mb == 2048

    with pytest.raises(MemoryLimitReached):
        update_agent(as_alice, agent, size="large")
    assert Release.objects.count() == 2


def test_a_stopped_agent_stays_stopped(as_alice, agent):
    stop_agent(as_alice, agent)

    assert update_agent(as_alice, agent, size="medium").goal == "stopped"


def test_an_agent_of_a_size_that_is_sold_no_more_keeps_it(as_alice, agent):
    agent.releases.update(memory_mb=768, cpu_millis=300)

    changed = update_agent(as_alice, agent, name="ranger", model="claude-x")

    assert (changed.name, changed.release.memory_mb, changed.release.size) == (
        "ranger",
        768,
        "custom",
    )


def test_an_agent_whose_key_was_revoked_can_still_be_renamed(as_alice, agent, key):
    revoke_key(as_alice, key)

    assert update_agent(as_alice, agent, name="ranger").name == "ranger"


def test_a_deleted_agent_takes_no_changes(as_alice, agent):
    delete_agent(as_alice, agent)
    before = everything()

    with pytest.raises(AgentDeleted):
        update_agent(as_alice, agent, name="ranger")
    assert everything() == before


def test_who_comes_too_late_is_told(as_alice, agent):
    etag = agent.etag
    update_agent(as_alice, agent, if_match=etag, name="ranger")
    before = everything()

    with pytest.raises(AgentChanged):
        update_agent(as_alice, agent, if_match=etag, name="rover")
    assert everything() == before


def test_the_api_says_412_and_gives_the_next_etag(alice_api, acme, agent):
    read = alice_api.get(f"/api/v1/orgs/{acme.pk}/agents/{agent.pk}")
    changed = patch(alice_api, agent, {"name": "ranger"}, read["ETag"])
    late = patch(alice_api, agent, {"name": "rover"}, read["ETag"])

    assert changed.status_code == 200
    assert changed["ETag"] not in {"", read["ETag"]}
    assert (late.status_code, late.json()["code"]) == (412, "agent_changed")
    assert Agent.objects.get().name == "ranger"


@pytest.mark.parametrize("etag", ["*", None])
def test_who_does_not_mind_is_let(alice_api, agent, etag):
    assert patch(alice_api, agent, {"name": "ranger"}, etag).status_code == 200


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"name": "Ranger"}, "impossible_name"),
        ({"name": "sk-ant-api03-abcdefgh12345678"}, "looks_like_secret"),
        ({"size": "huge"}, "impossible_setting"),
        ({"model": "no such model"}, "impossible_setting"),
        ({"key": "key_aaaaaaaaaaaaaaaa"}, "unknown_key"),
        ({"key": None}, "invalid"),
        ({"name": "ranger", "size": "huge"}, "impossible_setting"),
    ],
)
def test_a_bad_change_changes_nothing_at_all(alice_api, agent, body, code):
    before = everything()

    response = patch(alice_api, agent, body)

    assert (response.status_code, response.json()["code"]) == (422, code)
    assert everything() == before


def test_an_organisation_has_an_etag_too(alice_api, acme):
    path = f"/api/v1/orgs/{acme.pk}"
    etag = alice_api.get(path)["ETag"]
    changed = alice_api.patch(path, {"name": "Acme 2"}, headers={"If-Match": etag})
    late = alice_api.patch(path, {"name": "Acme 3"}, headers={"If-Match": etag})

    assert (changed.status_code, changed.json()["name"]) == (200, "Acme 2")
    assert changed["ETag"] != etag
    assert (late.status_code, late.json()["code"]) == (412, "organisation_changed")
    assert type(acme).objects.get(pk=acme.pk).name == "Acme 2"
