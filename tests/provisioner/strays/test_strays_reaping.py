"""Removing strays: a dry run first, then what it listed, and nothing else."""

import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils.timezone import now

from controlplane import ids
from controlplane.agents import actions
from controlplane.agents.conditions import set_condition
from controlplane.agents.models import Agent
from controlplane.audit.models import AuditEvent
from controlplane.errors import NotFound
from provisioner import memory, names
from provisioner.conditions import CURRENT
from provisioner.models import Node, ReapPlan, Stray
from provisioner.older import ASKED
from provisioner.strays import deciding, reaping
from provisioner.strays.adopting import adopt
from provisioner.strays.errors import DatabaseDoubtful, PlanChanged, PlanTooOld, PlanUnknown
from tests.provisioner.strays.conftest import OSCAR

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def old(lost, look, aged) -> str:
    """A lost agent that was seen for longer than the time of grace."""
    look()
    aged()
    return lost


def listed() -> list[str]:
    return [one.kind for one in reaping.candidates()]


def test_a_dry_run_lists_all_in_order_and_removes_nothing(old, engine, backend, vault):
    made = reaping.plan(OSCAR)

    assert [item["kind"] for item in made.items] == [
        "container", "keys", "disk", "network", "vault",
    ]  # fmt: skip
    assert reaping.carry_out(backend) == 0
    assert list(engine.kept) == [names.container(old)]
    assert backend.workspaces.known() == [old]
    assert f"agents/{old}" in vault.values


def test_what_was_agreed_to_goes_and_is_written_down(old, engine, backend, vault):
    made = reaping.plan(OSCAR)
    reaping.agree(OSCAR, made.pk)

    assert reaping.carry_out(backend) == 5
    assert (engine.kept, engine.kept_networks, backend.workspaces.known()) == ({}, {}, [])
    assert f"agents/{old}" not in vault.values
    assert backend.keys.known() == []
    assert set(Stray.objects.values_list("state", flat=True)) == {"removed"}
    assert AuditEvent.objects.filter(action="stray.removal_agreed").count() == 5
    removed = AuditEvent.objects.filter(action="stray.removed")
    assert {event.data["plan"] for event in removed} == {made.pk}
    assert removed.count() == 5


def test_what_was_found_lately_is_no_candidate(lost, look, aged):
    look()
    aged(6)

    assert listed() == []


def test_what_no_look_has_seen_of_late_is_no_candidate(old):
    Stray.objects.update(last_seen_at=now() - timedelta(hours=2))

    assert listed() == []


def test_so_many_at_once_and_no_more(old, settings, backend):
    settings.ROOST_REAP_AT_ONCE = 2
    made = reaping.plan(OSCAR)
    reaping.agree(OSCAR, made.pk)
    reaping.carry_out(backend)

    assert Stray.objects.filter(state="removed").count() == 2
    assert Stray.objects.filter(state="found").count() == 3


def test_what_is_to_be_left_alone_is_listed_by_no_plan(old):
    for stray in Stray.objects.exclude(kind="vault"):
        deciding.ignore(OSCAR, stray.pk)

    assert listed() == ["vault"]
    deciding.heed(OSCAR, Stray.objects.get(kind="network").pk)
    assert listed() == ["network", "vault"]


@pytest.mark.parametrize("why", ["ignored", "young"])
def test_what_a_container_uses_is_listed_only_with_it(old, why):
    container = Stray.objects.filter(kind="container")
    if why == "ignored":
        deciding.ignore(OSCAR, container.get().pk)
    else:
        container.update(first_seen_at=now())

    assert listed() == ["network", "vault"]


def test_a_removal_is_called_off(old, backend, engine, vault):
    reaping.agree(OSCAR, reaping.plan(OSCAR).pk)
    for stray in Stray.objects.exclude(kind="vault"):
        deciding.heed(OSCAR, stray.pk)

    assert reaping.carry_out(backend) == 1
    assert engine.kept
    assert backend.workspaces.known() == [old]
    rest = Stray.objects.exclude(kind="vault")
    assert set(rest.values_list("state", "plan")) == {("found", None)}
    assert adopt(OSCAR, old).pk == old
    with pytest.raises(NotFound):
        deciding.heed(OSCAR, Stray.objects.get(kind="vault").pk)


def test_an_old_plan_is_refused(old):
    made = reaping.plan(OSCAR)
    ReapPlan.objects.update(made_at=now() - timedelta(hours=2))

    with pytest.raises(PlanTooOld):
        reaping.agree(OSCAR, made.pk)


def test_a_plan_is_agreed_to_once(old):
    made = reaping.plan(OSCAR)
    reaping.agree(OSCAR, made.pk)

    for plan in (made.pk, "rpl_none"):
        with pytest.raises(PlanUnknown):
            reaping.agree(OSCAR, plan)


def test_a_plan_that_does_not_hold_any_more_is_refused(old, engine, look):
    made = reaping.plan(OSCAR)
    engine.lose(names.container(old))
    look()

    with pytest.raises(PlanChanged):
        reaping.agree(OSCAR, made.pk)
    assert not Stray.objects.filter(state="removing").exists()


def test_another_container_of_that_name_is_not_removed(old, engine, backend):
    reaping.agree(OSCAR, reaping.plan(OSCAR).pk)
    name = names.container(old)
    engine._set(engine.kept[name], id="another")

    reaping.carry_out(backend)

    assert name in engine.kept
    assert backend.workspaces.known() == [old]
    assert "Another container" in Stray.objects.get(kind="container").message
    assert "has to go first" in Stray.objects.get(kind="disk").message


def test_what_became_an_agents_meanwhile_is_not_removed(old, backend, engine, acme):
    """As by a newer copy of the database."""
    reaping.agree(OSCAR, reaping.plan(OSCAR).pk)
    Agent.objects.create(pk=old, organisation=acme, name="back", runtime="hermes", node="node-1")

    reaping.carry_out(backend)

    assert names.container(old) in engine.kept
    assert backend.workspaces.known() == [old]


def test_adopted_ones_are_no_candidates(old):
    adopt(OSCAR, old)

    assert listed() == ["network"]


def test_a_part_that_is_away_is_tried_again(old, backend, vault, engine):
    reaping.agree(OSCAR, reaping.plan(OSCAR).pk)
    vault.sealed = True
    reaping.carry_out(backend)
    assert Stray.objects.get(state="removing").kind == "vault"

    vault.sealed = False
    assert reaping.carry_out(backend) == 1


def test_killed_between_removal_and_row_it_goes_on(old, backend, engine, monkeypatch):
    reaping.agree(OSCAR, reaping.plan(OSCAR).pk)

    def die(*args, **more):
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(reaping, "_record", die)
        with pytest.raises(SystemExit):
            reaping.carry_out(backend)
    assert engine.kept == {}
    assert Stray.objects.filter(state="removing").count() == 5

    assert reaping.carry_out(backend) == 5


def test_of_what_the_database_never_heard_nothing_is_removed(unheard, look, aged, backend, engine):
    look()
    aged()

    assert listed() == ["container", "keys", "disk", "network"]  # a shared vault proves nothing
    with pytest.raises(DatabaseDoubtful, match="never heard"):
        reaping.agree(OSCAR, reaping.plan(OSCAR).pk)
    assert engine.kept


def test_who_knows_better_says_the_name_of_the_installation(unheard, look, aged, settings):
    look()
    aged()
    made = reaping.plan(OSCAR)

    with pytest.raises(DatabaseDoubtful):
        reaping.agree(OSCAR, made.pk, database_is_right="yes")
    right = settings.ROOST_INSTALLATION
    assert len(reaping.agree(OSCAR, made.pk, database_is_right=right)) == 4


def test_after_the_database_went_back_nothing_is_removed(old, memory_folder, settings):
    memory.compare()
    Node.objects.update(serial=0)
    memory.compare()

    with pytest.raises(DatabaseDoubtful, match="went back"):
        reaping.agree(OSCAR, reaping.plan(OSCAR).pk)
    memory.trust(OSCAR, settings.ROOST_NODE)
    assert reaping.agree(OSCAR, reaping.plan(OSCAR).pk)


def test_what_was_agreed_to_before_the_database_went_back_waits(
    old, memory_folder, settings, backend, engine
):
    reaping.agree(OSCAR, reaping.plan(OSCAR).pk)
    memory.compare()
    Node.objects.update(serial=0)
    memory.compare()

    assert reaping.carry_out(backend) == 0
    assert engine.kept
    assert "--trust-database" in Stray.objects.get(kind="disk").message
    memory.trust(OSCAR, settings.ROOST_NODE)
    assert reaping.carry_out(backend) == 5


def test_what_was_agreed_to_knowing_that_it_went_back_is_carried_out(
    old, memory_folder, settings, backend
):
    memory.compare()
    Node.objects.update(serial=0)
    memory.compare()
    right = settings.ROOST_INSTALLATION
    reaping.agree(OSCAR, reaping.plan(OSCAR).pk, database_is_right=right)

    assert reaping.carry_out(backend) == 5


def test_copies_of_agents_with_a_row_are_no_agents_without_one(look, backend, as_alice):
    for number in range(4):
        agent = actions.create_agent(as_alice, name=f"a{number}", runtime="hermes")
        backend.workspaces.clones.kept[agent.pk] = [ids.snapshot_id()]
    look()
    assert list(Stray.objects.values_list("kind", flat=True)) == ["copy"] * 4
    Agent.objects.update(node="another")

    assert reaping.doubts() == ""


def test_without_a_store_what_is_offsite_is_not_taken_for_removed(old, backend, settings):
    settings.S3_ENDPOINT_URL = ""
    offsite = f"{ids.organisation_id()}/{old}"
    told = {"kind": "offsite", "identity": offsite, "name": offsite, "agent": old}
    stray = Stray.objects.create(**told, state="removing")

    assert reaping.carry_out(backend) == 0
    stray.refresh_from_db()
    assert (stray.state, "no off-site store" in stray.message) == ("removing", True)


@pytest.fixture
def at_node(backend, monkeypatch):
    where = "provisioner.management.commands.{}.get_backend"
    for command in ("reap", "strays"):
        monkeypatch.setattr(where.format(command), lambda: backend)


def test_the_command_is_dry_unless_a_plan_is_named(old, at_node, capsys, engine):
    call_command("reap", output="json")
    told = json.loads(capsys.readouterr().out)
    assert len(told["items"]) == 5
    assert engine.kept

    call_command("reap", plan=told["plan"])
    assert "5 of 5 removed" in capsys.readouterr().out
    assert engine.kept == {}
    with pytest.raises(CommandError, match="no plan"):
        call_command("reap", plan=told["plan"])


def test_the_command_shows_no_agent_that_was_decided_on(running, at_node, capsys):
    set_condition(running, CURRENT, status=False, reason=ASKED, message="")
    call_command("strays")
    assert running.pk not in capsys.readouterr().out

    set_condition(running, CURRENT, status=False, reason="release_unknown", message="Unknown.")
    call_command("strays")
    assert f"{running.pk} {running.name}: Unknown." in capsys.readouterr().out


def test_the_command_shows_strays_as_json(lost, at_node, capsys, acme):
    call_command("strays", look=True, output="json")

    told = json.loads(capsys.readouterr().out)
    assert {one["kind"] for one in told["strays"]} == {
        "container", "keys", "disk", "network", "vault",
    }  # fmt: skip
    assert told["database_older_since"] is None
