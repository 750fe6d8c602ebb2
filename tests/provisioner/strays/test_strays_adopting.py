"""Making an agent again of what was found."""

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from controlplane.agents import actions
from controlplane.agents.errors import AgentNameTaken
from controlplane.agents.models import Agent
from controlplane.audit.models import AuditEvent
from controlplane.keys.actions import add_key
from provisioner import names
from provisioner.models import Stray
from provisioner.strays.adopting import adopt
from provisioner.strays.errors import NothingToAdopt, OwnerUnknown, RuntimeUnknown
from provisioner.strays.models import State
from tests.provisioner.strays.conftest import OSCAR, forget

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_is_an_agent_again_stopped_and_then_started(lost, look, go, as_alice, backend, engine):
    look()

    agent = adopt(OSCAR, lost)

    assert (agent.pk, agent.organisation_id, agent.runtime) == (
        lost, as_alice.organisation.pk, "hermes",
    )  # fmt: skip
    assert (agent.goal, agent.release.number, agent.release.egress) == ("stopped", 2, "none")
    agent = go(agent)
    assert (agent.status, engine.kept[names.container(lost)].state) == ("stopped", "exited")
    actions.start_agent(as_alice, agent)
    agent = go(agent)
    assert (agent.status, agent.observed_release) == ("running", 2)
    assert backend.workspaces.known() == [lost]
    look()
    assert set(Stray.objects.filter(agent=lost).values_list("state", flat=True)) == {"adopted"}
    event = AuditEvent.objects.get(action="agent.adopted")
    assert (event.target, event.actor_label) == (lost, "operator Oscar")


def test_without_its_container_somebody_says_which_runtime(lost, look, engine):
    engine.lose(names.container(lost))
    look()

    with pytest.raises(RuntimeUnknown):
        adopt(OSCAR, lost)
    assert adopt(OSCAR, lost, runtime="hermes", name="back").name == "back"


def test_the_one_key_of_its_provider_is_taken_over(running, go, as_alice, look, engine):
    add_key(as_alice, name="main", provider="anthropic", value="sk-ant-" + "x" * 20)
    spec = engine.specs[names.container(running.pk)]
    told = '{"provider": "anthropic", "model": "claude-sonnet-4-5"}'
    seen = engine.kept[spec.name]
    engine._set(seen, settings=told)
    forget(running)
    look()

    release = adopt(OSCAR, running.pk).release

    assert (release.key.name, release.model) == ("main", "claude-sonnet-4-5")


def test_what_is_labelled_as_of_one_is_given_to_no_other(lost, look, umbrella):
    look()

    with pytest.raises(OwnerUnknown, match="one that is known is given to no other"):
        adopt(OSCAR, lost, organisation=umbrella.pk)
    assert not Agent.objects.exists()


def test_where_nobody_knows_whose_it_is_the_operator_says(lost, look, umbrella):
    look()
    Stray.objects.update(organisation="")

    with pytest.raises(OwnerUnknown):
        adopt(OSCAR, lost)
    assert adopt(OSCAR, lost, organisation=umbrella.pk).organisation == umbrella


def test_a_taken_name_is_refused_and_nothing_changes(lost, look, as_alice):
    look()
    actions.create_agent(as_alice, name="scout", runtime="hermes")

    with pytest.raises(AgentNameTaken):
        adopt(OSCAR, lost, name="scout")
    assert not Agent.objects.filter(pk=lost).exists()
    assert set(Stray.objects.values_list("state", flat=True)) == {"found"}


@pytest.mark.parametrize("state", [State.REMOVING, State.GONE, State.REMOVED])
def test_what_is_gone_or_going_is_not_adopted(lost, look, state):
    look()
    Stray.objects.filter(kind="disk").update(state=state)

    with pytest.raises(NothingToAdopt):
        adopt(OSCAR, lost)


def test_twice_is_once(lost, look):
    look()
    adopt(OSCAR, lost)

    with pytest.raises(NothingToAdopt):
        adopt(OSCAR, lost, name="twice")


def test_by_the_command(lost, look, capsys):
    look()
    call_command("strays")
    assert "running, reaches nothing" in capsys.readouterr().out

    call_command("strays", adopt=lost, name="back")

    assert Agent.objects.get(pk=lost).name == "back"
    with pytest.raises(CommandError, match="could be adopted"):
        call_command("strays", adopt=lost)
