"""Creating an agent: what is accepted, what is refused, and that a refusal leaves no trace."""

import pytest

from controlplane.agents.actions import create_agent
from controlplane.agents.errors import (
    AgentLimitReached,
    AgentNameTaken,
    DiskLimitReached,
    ImpossibleName,
    ImpossibleSetting,
    MemoryLimitReached,
    UnknownKey,
    UnknownRuntime,
)
from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.models import Agent, Event, Release
from controlplane.audit.models import AuditEvent
from controlplane.errors import Forbidden, Invalid
from controlplane.keys.actions import add_key
from controlplane.keys.errors import LooksLikeSecret
from controlplane.tenants.errors import OrganisationPaused

pytestmark = pytest.mark.django_db


def test_an_agent_is_accepted_with_its_first_release(as_alice):
    agent = create_agent(as_alice, name="scout", runtime="hermes")

    assert (agent.goal, agent.status) == (Goal.RUNNING, Status.PENDING)
    assert agent.release.number == 1
    assert agent.release.image.startswith("roost/hermes:0.19.0-")


def test_it_is_told_in_timeline_and_audit_log(as_alice):
    agent = create_agent(as_alice, name="scout", runtime="hermes")

    assert [event.kind for event in agent.events.all()] == ["created"]
    row = AuditEvent.objects.get(action="agent.created")
    assert (row.actor_label, row.target) == ("Alice", agent.pk)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"name": "-scout"}, ImpossibleName),
        ({"name": "Scout"}, ImpossibleName),
        ({"name": "a" * 64}, ImpossibleName),
        ({"name": ""}, ImpossibleName),
        ({"name": "sk-ant-api03-abcdefgh12345678"}, LooksLikeSecret),
        ({"name": "new"}, ImpossibleSetting),
        ({"runtime": "nethack"}, UnknownRuntime),
        ({"size": "huge"}, ImpossibleSetting),
        ({"disk_gib": 3}, ImpossibleSetting),
        ({"egress": "maybe"}, ImpossibleSetting),
        ({"key": "key_aaaaaaaaaaaaaaaa"}, UnknownKey),
        ({"model": "claude-sonnet-5"}, ImpossibleSetting),
        ({"model": "stand in"}, ImpossibleSetting),
        ({"egress": "none", "egress_hosts": ["api.github.com"]}, ImpossibleSetting),
        ({"egress": "open", "egress_hosts": ["api.github.com"]}, ImpossibleSetting),
    ],
)
def test_a_bad_wish_is_refused_and_nothing_is_stored(as_alice, change, error):
    with pytest.raises(error):
        create_agent(as_alice, **{"name": "scout", "runtime": "hermes", **change})

    assert not Agent.objects.exists()
    assert not Release.objects.exists()
    assert not Event.objects.exists()
    assert not AuditEvent.objects.filter(action__startswith="agent.").exists()


def test_the_stand_in_may_be_called_by_its_name(as_alice):
    agent = create_agent(as_alice, name="scout", runtime="hermes", model="standin")

    assert (agent.release.model, agent.release.key) == ("standin", None)


@pytest.mark.parametrize("change", [{"model": "gpt-5"}, {"egress_hosts": ["api.github.com"]}])
def test_what_would_have_no_effect_is_refused_at_its_field(as_alice, change):
    with pytest.raises(ImpossibleSetting) as refusal:
        create_agent(as_alice, name="scout", runtime="hermes", **change)

    assert [refusal.value.field] == list(change)


def test_every_refusal_of_a_value_names_its_field(as_alice):
    with pytest.raises(Invalid) as refusal:
        create_agent(as_alice, name="scout", runtime="hermes", size="huge")

    assert refusal.value.field == "size"


def test_a_viewer_may_not(as_bob):
    with pytest.raises(Forbidden):
        create_agent(as_bob, name="scout", runtime="hermes")

    assert not Agent.objects.exists()


def test_a_name_is_taken_once_per_organisation(as_alice, as_charlie):
    create_agent(as_alice, name="scout", runtime="hermes")

    with pytest.raises(AgentNameTaken):
        create_agent(as_alice, name="scout", runtime="hermes")
    assert create_agent(as_charlie, name="scout", runtime="hermes").name == "scout"


def test_another_organisations_key_is_unknown_here(as_alice, as_charlie):
    key = add_key(as_charlie, name="theirs", provider="openai", value="sk-0123456789abcdef")

    with pytest.raises(UnknownKey):
        create_agent(as_alice, name="scout", runtime="hermes", key=key.pk)
    assert not Agent.objects.exists()


@pytest.mark.parametrize(
    ("limit", "error"),
    [
        ({"agent_limit": 1}, AgentLimitReached),
        ({"memory_mb_limit": 1000}, MemoryLimitReached),
        ({"disk_gib_limit": 9}, DiskLimitReached),
    ],
)
def test_limits_hold(as_alice, acme, limit, error):
    create_agent(as_alice, name="first", runtime="hermes")
    type(acme).objects.filter(pk=acme.pk).update(**limit)

    with pytest.raises(error):
        create_agent(as_alice, name="second", runtime="hermes")
    assert Agent.objects.count() == 1


def test_a_paused_organisation_starts_nothing(as_alice, acme):
    type(acme).objects.filter(pk=acme.pk).update(paused_reason="The invoice of May is open.")

    with pytest.raises(OrganisationPaused, match="invoice of May"):
        create_agent(as_alice, name="scout", runtime="hermes")
    assert not Agent.objects.exists()


def test_an_agent_without_the_internet_cannot_use_a_provider_out_there(as_alice):
    key = add_key(as_alice, name="main", provider="openai", value="sk-0123456789abcdef")

    with pytest.raises(ImpossibleSetting, match="Choose open"):
        create_agent(as_alice, name="scout", runtime="hermes", key=key.pk, egress="none")
